"""Runs for threads."""

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
    """Cause of the end. `event`: the last event of the run. `answer`: the response to the command. `handled`:
    the agent accepted the prompt but started no run. `stopped`: the agent acknowledged an abort, and no
    other end followed. `idle`: the agent is idle, and its last event was possibly in an unreadable line."""
    last: E | None
    """Last received event that can end a run, for example `agent_end` in the pi family."""
    confirmed: bool = True
    """`True` if the client knows for certain that no further event of the run follows. In the pi family, the
    client queries the state of the agent for this. The value is `False` if the agent rejects the query, or
    does not respond within 5 seconds."""
    aborted: bool = False
    """`True` if this client or another one aborted the run. An abort is not a failure."""
    failure: RunFailedError | None = None
    """Reason of a failed run. Only `wait` returns such results; `result` raises the failure."""


class SyncRun(Generic[E, C]):
    """Run of a prompt: an iterator over its events.

    The iterator ends when the run is over, including retries, automatic compactions and reminders. It raises
    a failure of the run once. Dropping the run only unsubscribes; the agent continues to work. Use `abort`
    to stop it.
    """

    __slots__ = ("_stream", "answer", "client", "command", "session")

    client: C
    """Client that started the run."""
    command: str
    """Wire name of the command that started the run."""
    session: str
    """Id of the run's session, in dialects with several sessions per connection; otherwise empty."""
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
        """Yields the events in lists as they arrive, for programs that process many events at once."""
        while batch := self._stream.batch():
            yield batch

    def pieces(self) -> Iterator[str]:
        """Yields the agent's text in the pieces in which it arrives. Other events are skipped."""
        for event in self:
            yield from self._text.pieces(event)

    def text(self, *, timeout: float | None = None) -> str:
        """Reads the run to its end and returns the text of its last message. The text is empty if the message
        has none. Events that were read before are not part of the text.

        Raises the error of the run, or `TimedOutError` if the run is not over after `timeout` seconds.
        Raises `UsageError` if an earlier call, for example of `result`, has already read or dropped all
        events.
        """
        return _text(self._stream, self._text, self.command, timeout)

    def result(self, *, timeout: float | None = None) -> RunResult[E]:
        """Waits for the end of the run and drops its unread events.

        Raises `RunFailedError` if the model request failed after all retries of the agent. Also raises the
        errors of `wait`.
        """
        return succeeded(self.wait(timeout=timeout))

    def wait(self, *, timeout: float | None = None) -> RunResult[E]:
        """Waits for the end of the run like `result`. A failed run raises no error: its result has a `failure`.

        If the agent acknowledges an abort and starts no new work, the run ends within ten seconds, plus the
        time for a query of its state.

        Raises `RefusedError` if the agent rejected the prompt after first accepting it. Raises
        `TerminatedError` if the connection ended before the run. Raises `TimedOutError` if the run is not
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
    """Returns the text of a completed run. Raises `UsageError` if its events were already read or dropped."""
    if not text.has_events and outcome(stream).last is not None:
        raise UsageError("the events of this run have been read or dropped already: call text() before result()")
    return str(text)


class _Deadline:
    """Point in time at which a time limit ends."""

    __slots__ = ("_end",)

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else monotonic() + seconds

    @property
    def seconds(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - monotonic())


def run_timeout(command: str, timeout: float | None) -> TimedOutError:
    """Returns the error for a run that is not over within the time limit."""
    text = f"the run of `{command}` is not over after {timeout} s"
    return TimedOutError(text, command=command, after=timeout or 0.0)


def outcome(stream: Stream) -> RunResult[Any]:
    """Returns the result of a completed run."""
    ended = stream.outcome()
    assert ended is not None
    return RunResult(*ended)


def succeeded(result: RunResult[E]) -> RunResult[E]:
    """Returns the result. Raises the failure of a failed run."""
    if result.failure is not None:
        raise result.failure
    return result


def accepted(pending: Operation) -> JsonValue:
    """Waits until the agent has accepted the run, and returns the data of the response. Raises the error of a
    rejection."""
    pending.wait()
    data: JsonValue = pending.take(ANY)
    return data
