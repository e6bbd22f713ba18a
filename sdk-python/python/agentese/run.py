"""Runs of agents, for threads."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any, ClassVar, Generic, Literal, TypeVar

from agentese._native import Decoder, Operation, Stream
from agentese.errors import RunFailedError, TimedOutError, UsageError
from agentese.text import LastText, TextTable
from agentese.values import JsonValue

E = TypeVar("E")
C = TypeVar("C")

ANY = Decoder("any")


@dataclass(frozen=True, slots=True)
class RunResult(Generic[E]):
    """Result of a run."""

    ended_by: Literal["event", "answer", "handled", "stopped", "idle"]
    """Cause of the end. `event`: the last event. `answer`: the response to the command. `handled`: a prompt
    without a run. `stopped`: an acknowledged abort without another end. `idle`: the agent is idle, and an
    unreadable line may have held the last event."""
    last: E | None
    """Last event that may end the run, for example `agent_end` in the pi family."""
    confirmed: bool = True
    """`True` if it is certain that no further event follows. In the pi family the client queries
    the state. The value is `False` if the agent rejects the query, or does not respond within 5
    seconds."""
    aborted: bool = False
    """`True` if the run was aborted, by any client. An abort is not a failure."""
    failure: RunFailedError | None = None
    """Reason of a failed run; only results of `wait` can have one."""


class SyncRun(Generic[E, C]):
    """Run of a prompt: an iterator over its events.

    The iteration ends with the run, after retries, automatic compactions and reminders. A failure
    of the run is raised once. Dropping the run only unsubscribes: the agent continues to work (use
    `abort` to stop it).
    """

    __slots__ = ("_stream", "answer", "client", "command", "session")

    client: C
    """Client that started the run."""
    command: str
    """Wire name of the command that started the run."""
    session: str
    """Session of the run, in dialects with several; otherwise empty."""
    answer: JsonValue
    """Data of the response that accepted the run, if any."""
    _text: ClassVar[TextTable]

    def __init__(self, client: C, command: str, session: str, stream: Stream, answer: JsonValue = None) -> None:
        """Not for direct use: call a method of the client that starts a run, such as `prompt`."""
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

    def batches(self) -> Iterator[list[E]]:
        """Returns the available events in lists, for programs that process many events at once."""
        while batch := self._stream.batch():
            yield batch

    def pieces(self) -> Iterator[str]:
        """Returns the text of the agent in pieces, as they arrive. Other events are skipped."""
        for event in self:
            yield from self._text.pieces(event)

    def text(self, *, timeout: float | None = None) -> str:
        """Reads the run to its end and returns the text of its last message, empty if it has no text.
        Events that were read before are not part of the text.

        Raises the error of the run, or `TimedOutError` if the run is not over after `timeout` seconds. Raises
        `UsageError` if all events were read or dropped before, as by `result`.
        """
        return _text(self._stream, self._text, self.command, timeout)

    def result(self, *, timeout: float | None = None) -> RunResult[E]:
        """Waits for the end of the run. Unread events are dropped.

        Raises `RunFailedError` if the model request failed after all retries of the agent. Other
        errors are those of `wait`.
        """
        return succeeded(self.wait(timeout=timeout))

    def wait(self, *, timeout: float | None = None) -> RunResult[E]:
        """Waits for the end of the run like `result`, but returns a failed run as a result.

        If the agent acknowledges an abort and starts no new work, the run ends after ten seconds at
        most, plus the time of a state query.

        Raises `RefusedError` if the agent rejected the prompt after its acceptance, and
        `TerminatedError` if the connection ended first. Raises `TimedOutError` if the run is not
        over after `timeout` seconds.
        """
        if not self._stream.wait_end(timeout):
            raise run_timeout(self.command, timeout)
        return outcome(self._stream)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self.command}>"


def _text(stream: Stream, table: TextTable, command: str, timeout: float | None) -> str:
    text = LastText(table)
    deadline = _Deadline(timeout)
    while True:
        batch = stream.batch(deadline.seconds)
        if batch is None:
            raise run_timeout(command, timeout)
        if not batch:
            return complete(text, stream)
        for event in batch:
            text.observe(event)


def complete(text: LastText, stream: Stream) -> str:
    """Returns the text of a completed run. Raises `UsageError` if its events were already consumed."""
    if not text.has_events and outcome(stream).last is not None:
        raise UsageError("the events of this run have been read or dropped already: call text() before result()")
    return str(text)


class _Deadline:
    """Time limit that covers several waits."""

    __slots__ = ("_end",)

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else monotonic() + seconds

    @property
    def seconds(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - monotonic())


def run_timeout(command: str, timeout: float | None) -> TimedOutError:
    """Returns the error of a wait that exceeded its time limit."""
    text = f"the run of `{command}` is not over after {timeout} s"
    return TimedOutError(text, command=command, after=timeout or 0.0)


def outcome(stream: Stream) -> RunResult[Any]:
    """Returns the result of a completed run."""
    ended = stream.outcome()
    assert ended is not None
    return RunResult(*ended)


def succeeded(result: RunResult[E]) -> RunResult[E]:
    """Returns the result of a successful run. Raises the error of a failed run."""
    if result.failure is not None:
        raise result.failure
    return result


def accepted(pending: Operation) -> JsonValue:
    """Waits for the acceptance of a run and returns the data of the response. Raises the error of a rejected
    run."""
    pending.wait()
    data: JsonValue = pending.take(ANY)
    return data
