"""What happens in an agent of any dialect, and the work that a prompt started, for threads."""

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from agentese.any.event import Event
from agentese.any.following import Following
from agentese.any.heard import Listener
from agentese.any.results import RunResult
from agentese.errors import TimedOutError
from agentese.run import SyncRun
from agentese.view.conversation import Conversation, Message


class Events(Iterator[Event]):
    """What happens, as an iterator. Whoever drops it, or leaves its `with` block, stops listening."""

    def __init__(self, lock: "threading.Condition", following: Following) -> None:
        self._lock = lock
        self._following = following
        self.listener = Listener(lock.notify_all)
        with lock:
            following.listen(self.listener)

    def __next__(self) -> Event:
        """The next event. Raises how the connection ended."""
        with self._lock:
            self._lock.wait_for(lambda: self.listener or self.listener.is_over)
            if self.listener:
                return self.listener.take()
            failure = self.listener.failure()
        if failure is not None:
            raise failure
        raise StopIteration

    def close(self) -> None:
        """Stops listening. What was heard so far can still be read."""
        with self._lock:
            self._following.leave(self.listener)
            self.listener.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        listener = getattr(self, "listener", None)
        if listener is not None:
            listener.drop()


class Ending:
    """How a run ended, as soon as it has. Knows the reader of its events, and is not what the reader holds."""

    def __init__(self, listener: Listener, lock: "threading.Condition") -> None:
        self._listener = listener
        self._lock = lock
        self.over = threading.Event()
        self.result: RunResult | BaseException | None = None

    def came(self, result: RunResult | BaseException) -> None:
        """The run is over."""
        self.result = result
        self.over.set()
        with self._lock:
            self._listener.end(result if isinstance(result, BaseException) else result.failure)


class Run:
    """The work that a prompt started, retries and compactions among it: an iterator over what happens until it is over.

    Dropping it, as `close`, stops listening and nothing else: the agent goes on working (use `abort` to stop it).
    """

    run: SyncRun[Any, Any]
    """The run of the dialect's client."""
    outcome: str | None
    """What the agent said that becomes of the words: `started`, `queued`, `handled`."""

    def __init__(self, run: SyncRun[Any, Any], events: Events, ending: Ending, outcome: str | None) -> None:
        """Use `Agent.prompt`."""
        self.run = run
        self.outcome = outcome
        self._events = events
        self._ending = ending
        self._is_read = False

    def __iter__(self) -> Iterator[Event]:
        self._is_read = True
        return self._events

    def __next__(self) -> Event:
        self._is_read = True
        return next(self._events)

    def close(self) -> None:
        """Stops listening. What was heard so far can still be read, and the result waited for."""
        self._events.close()

    def result(self, *, timeout: float | None = None) -> RunResult:
        """Waits for the end of the run, whether or not its events are read.

        Raises `RunFailedError` if the request to the model failed, after the retries that the agent makes; else as `wait`.
        """
        return succeeded(self.wait(timeout=timeout))

    def wait(self, *, timeout: float | None = None) -> RunResult:
        """Waits for the end of the run as `result` does, and returns a run that failed as a result.

        Raises `RefusedError` if the agent refused the prompt after all, `TerminatedError` if the connection ended first, and
        `TimedOutError` if the run is not over after `timeout` seconds.
        """
        if not self._ending.over.wait(timeout):
            text = f"the run of `{self.run.command}` is not over after {timeout} s"
            raise TimedOutError(text, command=self.run.command, after=timeout or 0.0)
        if isinstance(self._ending.result, BaseException):
            raise self._ending.result
        assert self._ending.result is not None
        return self._ending.result

    def text(self, *, timeout: float | None = None) -> str:
        """Waits for the end of the run and gives the text of the model's last message. Where nobody has begun to read the
        events, nobody listens to them any more."""
        if not self._is_read:
            self._events.close()
        return self.result(timeout=timeout).text


def succeeded(result: RunResult) -> RunResult:
    """The result of a run that did not fail. Raises how it failed."""
    if result.failure is not None:
        raise result.failure
    return result


def last_said(conversation: Conversation) -> Message | None:
    """The model's last message."""
    return next((message for message in reversed(conversation.messages) if message.role == "assistant"), None)
