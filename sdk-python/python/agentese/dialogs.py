"""Answering what the agent asks."""

import logging
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, TypeAlias

from agentese._native import Connection, Question, Record
from agentese.members import encode

logger = logging.getLogger("agentese")

Table: TypeAlias = Mapping[str, tuple[str, type[Record], str | None]]
"""The wire name of each dialog: the handler's method, the class of the parameters, the member of the answer."""


_asked: ContextVar[Question | None] = ContextVar("agentese_question", default=None)


def withdrawn(timeout: float | None = 0.0) -> bool:
    """Whether the question that the calling handler answers is none any more: the agent has taken it back, or the
    connection is over, and an answer would reach nobody.

    Waits so many seconds for that, `None` for ever. Always false outside of a handler. A handler for asyncio needs no
    such question: its task is cancelled.
    """
    question = _asked.get()
    return question is not None and question.withdrawn(timeout)


def ask(question: Question, table: Table, handler: object) -> Any:
    """Calls the handler's method; what it gives may be awaitable."""
    method, record, _ = table[question.method]
    _asked.set(question)
    return getattr(handler, method)(question.record(record))


def settle(question: Question, table: Table, answer: Any) -> None:
    """Sends an answer; `None` leaves it to the declared policy."""
    member = table[question.method][2]
    question.answer(None if member is None or answer is None else encode({member: answer}))


def failed(question: Question) -> None:
    """A handler that raised has not answered: the policy does."""
    logger.exception("the handler of %s failed", question.method)
    question.answer(None)


def serve(connection: Connection, table: Table, handler: object) -> None:
    """Answers dialogs on this thread until the connection is over."""
    while (question := connection.next_question()) is not None:
        try:
            settle(question, table, ask(question, table, handler))
        except Exception:
            failed(question)
