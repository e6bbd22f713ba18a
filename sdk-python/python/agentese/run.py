"""The work that a prompt started, for threads."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from agentese._native import Decoder, Pending, Stream
from agentese.errors import TimedOutError
from agentese.values import JsonValue

E = TypeVar("E")
C = TypeVar("C")

ANY = Decoder("any")


@dataclass(frozen=True, slots=True)
class RunResult(Generic[E]):
    """How a run ended."""

    ended_by: Literal["event", "answer", "handled"]
    """Its last event, the answer to its command, or nothing: the agent took the prompt and started no run for it."""
    last: E | None
    """The last event that could be the end, as `agent_end` in the pi family."""


class SyncRun(Generic[E, C]):
    """The work that a prompt started: an iterator over its events.

    It ends when the run is over: retries, automatic compactions and reminders that start it again are part of it.
    A failure of the run is raised once. Letting go of it stops listening and nothing else: the agent goes on
    working (use `abort` to stop it).
    """

    __slots__ = ("_stream", "answer", "client", "command", "session")

    client: C
    command: str
    session: str
    answer: JsonValue
    """The data of the answer that accepted the run, where there is any."""

    def __init__(self, client: C, command: str, session: str, stream: Stream, answer: JsonValue = None) -> None:
        self.client = client
        self.command = command
        self.session = session
        self.answer = answer
        self._stream = stream

    def __iter__(self) -> Iterator[E]:
        return self._stream

    def __next__(self) -> E:
        event: E = next(self._stream)
        return event

    def result(self, *, timeout: float | None = None) -> RunResult[E]:
        """Waits for the end of the run; events that were not read are dropped.

        Raises how it failed, and `TimedOutError` where it is not over after `timeout` seconds.
        """
        if not self._stream.wait_end(timeout):
            raise TimedOutError(
                f"the run of `{self.command}` is not over after {timeout} s", command=self.command, after=timeout or 0.0
            )
        return outcome(self._stream)


def outcome(stream: Stream) -> RunResult[Any]:
    """How a run ended that is over."""
    ended = stream.outcome()
    assert ended is not None
    return RunResult(*ended)


def accepted(pending: Pending) -> JsonValue:
    """Waits until a run is accepted and gives what the agent said; raises where it is refused."""
    pending.wait()
    data: JsonValue = pending.take(ANY)
    return data
