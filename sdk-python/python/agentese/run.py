"""The work that a prompt started, for threads."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any, ClassVar, Generic, Literal, TypeVar

from agentese._native import Decoder, Pending, Stream
from agentese.errors import RunFailedError, TimedOutError, UsageError
from agentese.text import LastText, TextTable
from agentese.values import JsonValue

E = TypeVar("E")
C = TypeVar("C")

ANY = Decoder("any")


@dataclass(frozen=True, slots=True)
class RunResult(Generic[E]):
    """How a run ended."""

    ended_by: Literal["event", "answer", "handled", "stopped", "idle"]
    """`event`: its last event; `answer`: the answer to its command; `handled`: the agent accepted the prompt and started
    no run for it; `stopped`: the agent acknowledged an abort, and nothing ended the run after that; `idle`: the agent is
    idle, and its last event was not seen, because a line of the run could not be read."""
    last: E | None
    """The last event that could be the end, as `agent_end` in the pi family."""
    confirmed: bool = True
    """Whether it is certain that nothing follows. In the pi family the client asks for the state to be certain; an agent
    that refuses to answer, or has not answered after 5 seconds, leaves this false."""
    aborted: bool = False
    """Whether somebody stopped the run, whoever it was. That is no failure."""
    failure: RunFailedError | None = None
    """How the run failed, if it did; only `wait` returns a result with a failure."""


class SyncRun(Generic[E, C]):
    """The work that a prompt started: an iterator over its events.

    It ends when the run is over: retries, automatic compactions and reminders that start it again are part of it.
    A failure of the run is raised once. Dropping the run stops listening and nothing else: the agent goes on
    working (use `abort` to stop it).
    """

    __slots__ = ("_stream", "answer", "client", "command", "session")

    client: C
    """The client that started the run."""
    command: str
    """The wire name of the command that started it."""
    session: str
    """The session that it runs in, in dialects with several; otherwise empty."""
    answer: JsonValue
    """The data of the answer that accepted the run, where there is any."""
    _text: ClassVar[TextTable]

    def __init__(self, client: C, command: str, session: str, stream: Stream, answer: JsonValue = None) -> None:
        """Use the method of a client that starts a run, such as `prompt`."""
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
        """The events in lists, as they come: for programs that handle many at once."""
        while batch := self._stream.batch():
            yield batch

    def pieces(self) -> Iterator[str]:
        """The pieces of the agent's text, as they come; other events are skipped."""
        for event in self:
            yield from self._text.pieces(event)

    def text(self, *, timeout: float | None = None) -> str:
        """Reads the run to its end and returns the text of its last message, empty if it has none. Events that were
        read before are not part of the text.

        Raises how the run failed, `TimedOutError` if it is not over after `timeout` seconds, and `UsageError` if all
        events have been read or dropped before, as by `result`.
        """
        return _text(self._stream, self._text, self.command, timeout)

    def result(self, *, timeout: float | None = None) -> RunResult[E]:
        """Waits for the end of the run; events that were not read are dropped.

        Raises `RunFailedError` if the request to the model failed, after the retries that the agent makes; else as `wait`.
        """
        return succeeded(self.wait(timeout=timeout))

    def wait(self, *, timeout: float | None = None) -> RunResult[E]:
        """Waits for the end of the run as `result` does, and returns a run that failed as a result.

        After the agent has acknowledged an abort, and tells of no new work, the run ends within ten seconds and the time that
        the agent takes to tell its state.

        Raises `RefusedError` if the agent refused the prompt after all, `TerminatedError` if the connection ended first, and
        `TimedOutError` if the run is not over after `timeout` seconds.
        """
        if not self._stream.wait_end(timeout):
            raise not_over(self.command, timeout)
        return outcome(self._stream)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self.command}>"


def _text(stream: Stream, table: TextTable, command: str, timeout: float | None) -> str:
    text = LastText(table)
    left = _Left(timeout)
    while True:
        batch = stream.batch(left.seconds)
        if batch is None:
            raise not_over(command, timeout)
        if not batch:
            return complete(text, stream)
        for event in batch:
            text.see(event)


def complete(text: LastText, stream: Stream) -> str:
    """The text of a run that is over. Fails where its events were taken by something else."""
    if not text.has_seen and outcome(stream).last is not None:
        raise UsageError("the events of this run have been read or dropped already: call text() before result()")
    return str(text)


class _Left:
    """What is left of a time limit."""

    __slots__ = ("_end",)

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else monotonic() + seconds

    @property
    def seconds(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - monotonic())


def not_over(command: str, timeout: float | None) -> TimedOutError:
    """The failure of whoever waited for the end of a run."""
    text = f"the run of `{command}` is not over after {timeout} s"
    return TimedOutError(text, command=command, after=timeout or 0.0)


def outcome(stream: Stream) -> RunResult[Any]:
    """How a run ended that is over."""
    ended = stream.outcome()
    assert ended is not None
    return RunResult(*ended)


def succeeded(result: RunResult[E]) -> RunResult[E]:
    """The result of a run that did not fail. Raises how it failed."""
    if result.failure is not None:
        raise result.failure
    return result


def accepted(pending: Pending) -> JsonValue:
    """Waits until a run is accepted and gives the data of that answer; raises where it is refused."""
    pending.wait()
    data: JsonValue = pending.take(ANY)
    return data
