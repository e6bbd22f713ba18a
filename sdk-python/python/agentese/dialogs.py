"""Answering the agent's dialogs."""

import inspect
import logging
import queue
import sys
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, TypeAlias

from agentese import lifetime
from agentese._native import Connection, Question, Record
from agentese.hints import meant
from agentese.members import encode

logger = logging.getLogger("agentese")

Table: TypeAlias = Mapping[str, tuple[str, type[Record], str | bool | None]]
"""The wire name of each dialog: the handler's method, the class of the parameters, the member of the answer. `True` where
the handler gives all members of it, `None` where no answer is expected."""

MOST = 64
"""How many questions of one client are with a handler for threads at once; more wait."""

asked: ContextVar[Question | None] = ContextVar("agentese_question", default=None)
"""The question that the running handler answers."""


class DialogsBase:
    """The base of the classes that answer dialogs. A subclass whose public method is nearly named like a dialog is
    refused: it would never be called."""

    _methods: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        refuse_misspelt(cls, cls._methods, "dialog", "dialog")


def refuse_misspelt(cls: type, known: "frozenset[str]", what: str, parameter: str) -> None:
    """Raises `TypeError` for a public method that is meant for something that does not exist: one that is nearly
    named like it, or whose last parameter is named like theirs."""
    if not known:
        return
    for name, value in vars(cls).items():
        if name.startswith("_") or name in known or not inspect.isfunction(value):
            continue
        last = [*inspect.signature(value).parameters][-1:]
        hint = meant(name, known, 0.75)
        if hint or last == [parameter]:
            raise TypeError(f"`{cls.__name__}.{name}` is not a {what}{hint or '; begin the name of a helper with `_`'}")


def withdrawn(timeout: float | None = 0.0) -> bool:
    """Whether the question that the calling handler answers is withdrawn: the agent took it back, its time ran out,
    or the connection ended. An answer is not sent then.

    Waits up to `timeout` seconds for that; `None` waits without a limit. Always false outside of a handler. A handler
    for asyncio needs no such question: its task is cancelled.
    """
    question = asked.get()
    return question is not None and question.withdrawn(timeout)


def ask(question: Question, table: Table, handler: object) -> Any:
    """Calls the handler's method; what it gives may be awaitable."""
    method, record, _ = table[question.method]
    asked.set(question)
    return getattr(handler, method)(question.record(record))


def settle(question: Question, table: Table, answer: Any) -> None:
    """Sends an answer; `None` leaves it to the declared policy."""
    member = table[question.method][2]
    if member is None or answer is None:
        question.answer(None)
    else:
        question.answer(encode(answer if member is True else {member: answer}))


def failed(question: Question) -> None:
    """Reports that the handler raised an exception, to the log and as a diagnostic; the declared policy answers."""
    logger.exception("the handler of %s failed", question.method)
    question.fail(repr(sys.exception()))


def _answer(question: Question, table: Table, handler: object) -> None:
    try:
        settle(question, table, ask(question, table, handler))
    except Exception:
        failed(question)


def serve(connection: Connection, table: Table, handler: object) -> None:
    """Answers dialogs until the connection is over: each question on a thread of its own, so that a slow answer holds
    up no other; notices one after another, in order."""
    notices: queue.SimpleQueue[Question | None] = queue.SimpleQueue()
    room = threading.BoundedSemaphore(MOST)

    def answer(question: Question) -> None:
        try:
            _answer(question, table, handler)
        finally:
            room.release()

    def tell() -> None:
        while (notice := notices.get()) is not None:
            _answer(notice, table, handler)

    teller: threading.Thread | None = None
    while (question := connection.next_question()) is not None:
        if table[question.method][2] is None:
            if teller is None:
                teller = threading.Thread(target=tell, daemon=True)
                lifetime.start("agentese-notices", teller)
            notices.put(question)
        else:
            room.acquire()
            lifetime.start("agentese-dialog", threading.Thread(target=answer, args=(question,), daemon=True))
    notices.put(None)
