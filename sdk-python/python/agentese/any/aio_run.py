"""Events and runs of an agent of any dialect, for asyncio and trio."""

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self

from agentese import backends
from agentese.aio import AsyncRunBase
from agentese.any.event import Event
from agentese.any.listener import Listener
from agentese.any.results import RunResult
from agentese.any.run import last_assistant_message, succeeded
from agentese.any.tracker import ConversationTracker
from agentese.errors import TimedOutError
from agentese.view.conversation import Conversation


class WaiterList:
    """Group of tasks that wait for the same notification."""

    def __init__(self, backend: backends.Backend) -> None:
        self._backend = backend
        self._signals: list[backends.Signal] = []

    def signal(self) -> backends.Signal:
        """Returns a signal that the next call of `wake` sets."""
        signal = self._backend.signal()
        self._signals.append(signal)
        return signal

    def wake(self) -> None:
        """Wakes all waiting tasks."""
        signals, self._signals = self._signals, []
        for signal in signals:
            signal.set()


class AsyncEvents(AsyncIterator[Event]):
    """Asynchronous iterator over events. It unsubscribes when it is dropped, or when its `with` block ends."""

    def __init__(self, backend: backends.Backend, tracker: ConversationTracker) -> None:
        self._tracker = tracker
        self._waiters = WaiterList(backend)
        self.listener = Listener(self._waiters.wake)
        tracker.subscribe(self.listener)

    async def __anext__(self) -> Event:
        """Returns the next event. Raises `TerminatedError` at the end of the connection."""
        while not self.listener:
            if self.listener.is_ended:
                failure = self.listener.failure()
                if failure is not None:
                    raise failure
                raise StopAsyncIteration
            await self._waiters.signal().wait()
        return self.listener.take()

    def close(self) -> None:
        """Unsubscribes. Events that have already arrived can still be read."""
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


class AsyncPendingResult:
    """Result of a run, set when the run ends. The result holds a reference to the event queue. The
    queue does not refer to the result, so a dropped run is freed."""

    def __init__(
        self,
        run: AsyncRunBase[Any, Any],
        listener: Listener,
        conversation: Callable[[], Conversation],
        catch_up: Callable[[], None],
    ) -> None:
        self._run = run
        self._listener = listener
        self._conversation = conversation
        self._catch_up = catch_up
        self.waiters: WaiterList | None = None
        self.result: RunResult | BaseException | None = None

    async def wait(self) -> None:
        """Waits for the end of the run."""
        try:
            ended = await self._run.wait()
            self._catch_up()
        except Exception as error:
            self.result = error
            return
        self.result = RunResult.of(ended, last_assistant_message(self._conversation()))

    def finish(self) -> None:
        """Makes the result available. If the event loop ended before the run, the result is a
        `RuntimeError`.
        """
        if self.result is None:
            self.result = RuntimeError("no task waits for the end of this run any more")
        try:
            self._catch_up()
        finally:
            self._listener.end(self.result if isinstance(self.result, BaseException) else self.result.failure)
            if self.waiters is not None:
                self.waiters.wake()


class AsyncRun:
    """Run of a prompt, including retries and compactions: an asynchronous iterator over its events.

    Dropping the run, like `close`, only unsubscribes; the agent continues to work. Use `abort` to stop it.
    """

    run: AsyncRunBase[Any, Any]
    """Run of the typed client."""
    outcome: str | None
    """Outcome of the prompt that the agent reports: `started`, `queued` or `handled`."""

    def __init__(
        self,
        run: AsyncRunBase[Any, Any],
        events: AsyncEvents,
        pending_result: AsyncPendingResult,
        backend: backends.Backend,
        outcome: str | None,
    ) -> None:
        """Not for direct use: call `AsyncAgent.prompt`."""
        self.run = run
        self.outcome = outcome
        self._events = events
        self._pending_result = pending_result
        self._backend = backend
        self._waiters = pending_result.waiters = WaiterList(backend)
        self._is_read = False

    def __aiter__(self) -> AsyncIterator[Event]:
        self._is_read = True
        return self._events

    async def __anext__(self) -> Event:
        self._is_read = True
        return await anext(self._events)

    def close(self) -> None:
        """Unsubscribes. Events that have already arrived can still be read, and the result can still be
        awaited."""
        self._events.close()

    async def result(self, *, timeout: float | None = None) -> RunResult:
        """Waits for the end of the run. Its events need not be read.

        Raises `RunFailedError` if the model request failed after all retries of the agent. Also raises the
        errors of `wait`.
        """
        return succeeded(await self.wait(timeout=timeout))

    async def wait(self, *, timeout: float | None = None) -> RunResult:
        """Waits for the end of the run like `result`. A failed run raises no error: its result has a `failure`.

        Raises `RefusedError` if the agent rejected the prompt, possibly after first accepting it. Raises
        `TerminatedError` if the connection ended before the run. Raises `TimedOutError` if the run is not
        over after `timeout` seconds.
        """
        if self._pending_result.result is None and not await self._backend.within(timeout, self._waiters.signal().wait()):
            text = f"the run of `{self.run.command}` is not over after {timeout} s"
            raise TimedOutError(text, command=self.run.command, after=timeout or 0.0)
        if isinstance(self._pending_result.result, BaseException):
            raise self._pending_result.result
        assert self._pending_result.result is not None
        return self._pending_result.result

    async def text(self, *, timeout: float | None = None) -> str:
        """Waits for the end of the run and returns the text of the model's last message. If no
        event was read before, the run unsubscribes first, so that no events are queued."""
        if not self._is_read:
            self._events.close()
        return (await self.result(timeout=timeout)).text
