"""Handling of the agent's dialogs."""

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
from agentese.hints import suggest
from agentese.members import encode

logger = logging.getLogger("agentese")

DialogTable: TypeAlias = Mapping[str, tuple[str, type[Record], str | bool | None]]
"""Dialogs by wire name. Each has the method of the handler, the class of the parameters, and the
member of the answer. If that is `True`, the handler returns all members of the answer. If it is
`None`, the agent expects no answer."""

MAX_CONCURRENT = 64
"""Maximum number of questions that one client passes to its handler at a time, each on its own thread. Further
questions wait."""

current_question: ContextVar[Question | None] = ContextVar("agentese_question", default=None)
"""Question that the current handler answers."""


class DialogsBase:
    """Base of the classes that answer dialogs. Raises `TypeError` for a subclass whose public method seems to
    be a misspelt dialog, because that method would never be called."""

    _methods: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        reject_misspelt(cls, cls._methods, "dialog", "dialog")


def reject_misspelt(cls: type, known: "frozenset[str]", what: str, parameter: str) -> None:
    """Raises `TypeError` if a class has a public method that seems to be misspelt. That is an
    unknown method whose name is similar to a known one, or whose last parameter has the name in
    `parameter`."""
    if not known:
        return
    for name, value in vars(cls).items():
        if name.startswith("_") or name in known or not inspect.isfunction(value):
            continue
        last = [*inspect.signature(value).parameters][-1:]
        hint = suggest(name, known, 0.75)
        if hint or last == [parameter]:
            raise TypeError(f"`{cls.__name__}.{name}` is not a {what}{hint or '; begin the name of a helper with `_`'}")


def is_withdrawn(timeout: float | None = 0.0) -> bool:
    """Returns `True` if the question of the calling handler is withdrawn. This happens if the agent
    withdraws it, its time limit passes, or the connection ends. The answer is then not sent.

    Waits up to `timeout` seconds for a withdrawal; `None` waits without a limit. Always returns `False` outside of
    a handler. A handler for asyncio does not need this function, because its task is cancelled.
    """
    question = current_question.get()
    return question is not None and question.withdrawn(timeout)


def call_handler(question: Question, table: DialogTable, handler: object) -> Any:
    """Calls the handler's method for the dialog. An asynchronous method returns an awaitable."""
    method, record, _ = table[question.method]
    current_question.set(question)
    return getattr(handler, method)(question.record(record))


def send_answer(question: Question, table: DialogTable, answer: Any) -> None:
    """Sends an answer. If the answer is `None`, the declared policy replaces it."""
    member = table[question.method][2]
    if member is None or answer is None:
        question.answer(None)
    else:
        question.answer(encode(answer if member is True else {member: answer}))


def report_failure(question: Question) -> None:
    """Logs the exception of a handler and reports it as a diagnostic. The declared policy then
    supplies the answer.
    """
    logger.exception("the handler of %s failed", question.method)
    question.fail(repr(sys.exception()))


def _answer(question: Question, table: DialogTable, handler: object) -> None:
    try:
        send_answer(question, table, call_handler(question, table, handler))
    except Exception:
        report_failure(question)


def serve(connection: Connection, table: DialogTable, handler: object) -> None:
    """Answers dialogs until the end of the connection. Each question has its own thread, so that a slow
    answer does not delay others. Notices are handled in order, one at a time."""
    notices: queue.SimpleQueue[Question | None] = queue.SimpleQueue()
    slots = threading.BoundedSemaphore(MAX_CONCURRENT)

    def answer(question: Question) -> None:
        try:
            _answer(question, table, handler)
        finally:
            slots.release()

    def handle_notices() -> None:
        while (notice := notices.get()) is not None:
            _answer(notice, table, handler)

    notice_thread: threading.Thread | None = None
    while (question := connection.next_question()) is not None:
        if table[question.method][2] is None:
            if notice_thread is None:
                notice_thread = threading.Thread(target=handle_notices, daemon=True)
                lifetime.start("agentese-notices", notice_thread)
            notices.put(question)
        else:
            slots.acquire()
            lifetime.start("agentese-dialog", threading.Thread(target=answer, args=(question,), daemon=True))
    notices.put(None)
