"""Events and runs of an agent of any dialect, for threads."""

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from agentese.any.event import Event
from agentese.any.listener import Listener
from agentese.any.results import RunResult
from agentese.any.tracker import ConversationTracker
from agentese.errors import TimedOutError
from agentese.run import SyncRun
from agentese.view.conversation import Conversation, Message


class Events(Iterator[Event]):
    """Iterator over events. It unsubscribes when it is dropped, or when its `with` block ends."""

    def __init__(self, lock: "threading.Condition", tracker: ConversationTracker) -> None:
        self._lock = lock
        self._tracker = tracker
        self.listener = Listener(lock.notify_all)
        with lock:
            tracker.subscribe(self.listener)

    def __next__(self) -> Event:
        """Returns the next event. Raises `TerminatedError` at the end of the connection."""
        with self._lock:
            self._lock.wait_for(lambda: self.listener or self.listener.is_ended)
            if self.listener:
                return self.listener.take()
            failure = self.listener.failure()
        if failure is not None:
            raise failure
        raise StopIteration

    def close(self) -> None:
        """Unsubscribes. Events that have already arrived can still be read."""
        with self._lock:
            self._tracker.unsubscribe(self.listener)
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


class PendingResult:
    """Result of a run, set when the run ends. The result holds a reference to the event queue. The
    queue does not refer to the result, so a dropped run is freed."""

    def __init__(self, listener: Listener, lock: "threading.Condition") -> None:
        self._listener = listener
        self._lock = lock
        self.done = threading.Event()
        self.result: RunResult | BaseException | None = None

    def set_result(self, result: RunResult | BaseException) -> None:
        """Sets the result of the run."""
        self.result = result
        self.done.set()
        with self._lock:
            self._listener.end(result if isinstance(result, BaseException) else result.failure)


class Run:
    """Run of a prompt, including retries and compactions: an iterator over its events.

    Dropping the run, like `close`, only unsubscribes; the agent continues to work. Use `abort` to stop it.
    """

    run: SyncRun[Any, Any]
    """Run of the typed client."""
    outcome: str | None
    """Outcome of the prompt that the agent reports: `started`, `queued` or `handled`."""

    def __init__(self, run: SyncRun[Any, Any], events: Events, pending_result: PendingResult, outcome: str | None) -> None:
        """Not for direct use: call `Agent.prompt`."""
        self.run = run
        self.outcome = outcome
        self._events = events
        self._pending_result = pending_result
        self._is_read = False

    def __iter__(self) -> Iterator[Event]:
        self._is_read = True
        return self._events

    def __next__(self) -> Event:
        self._is_read = True
        return next(self._events)

    def close(self) -> None:
        """Unsubscribes. Events that have already arrived can still be read, and the result can still be
        awaited."""
        self._events.close()

    def result(self, *, timeout: float | None = None) -> RunResult:
        """Waits for the end of the run. Its events need not be read.

        Raises `RunFailedError` if the model request failed after all retries of the agent. Also raises the
        errors of `wait`.
        """
        return succeeded(self.wait(timeout=timeout))

    def wait(self, *, timeout: float | None = None) -> RunResult:
        """Waits for the end of the run like `result`. A failed run raises no error: its result has a `failure`.

        Raises `RefusedError` if the agent rejected the prompt, possibly after first accepting it. Raises
        `TerminatedError` if the connection ended before the run. Raises `TimedOutError` if the run is not
        over after `timeout` seconds.
        """
        if not self._pending_result.done.wait(timeout):
            text = f"the run of `{self.run.command}` is not over after {timeout} s"
            raise TimedOutError(text, command=self.run.command, after=timeout or 0.0)
        if isinstance(self._pending_result.result, BaseException):
            raise self._pending_result.result
        assert self._pending_result.result is not None
        return self._pending_result.result

    def text(self, *, timeout: float | None = None) -> str:
        """Waits for the end of the run and returns the text of the model's last message. If no
        event was read before, the run unsubscribes first, so that no events are queued."""
        if not self._is_read:
            self._events.close()
        return self.result(timeout=timeout).text


def succeeded(result: RunResult) -> RunResult:
    """Returns the result of a successful run. Raises the error of a failed run."""
    if result.failure is not None:
        raise result.failure
    return result


def last_assistant_message(conversation: Conversation) -> Message | None:
    """Returns the last message of the model."""
    return next((message for message in reversed(conversation.messages) if message.role == "assistant"), None)
