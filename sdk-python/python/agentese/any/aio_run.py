"""What happens in an agent of any dialect, and the work that a prompt started, for asyncio and trio."""

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self

from agentese import backends
from agentese.aio import AsyncRunBase
from agentese.any.event import Event
from agentese.any.following import Following
from agentese.any.heard import Listener
from agentese.any.results import RunResult
from agentese.any.run import last_said, succeeded
from agentese.errors import TimedOutError
from agentese.view.conversation import Conversation


class Waiting:
    """Who waits for something to happen."""

    def __init__(self, backend: backends.Backend) -> None:
        self._backend = backend
        self._signals: list[backends.Signal] = []

    def signal(self) -> backends.Signal:
        """One that is set at the next `wake`."""
        signal = self._backend.signal()
        self._signals.append(signal)
        return signal

    def wake(self) -> None:
        """It happened."""
        signals, self._signals = self._signals, []
        for signal in signals:
            signal.set()


class AsyncEvents(AsyncIterator[Event]):
    """What happens, as an asynchronous iterator. Whoever drops it, or leaves its `with` block, stops listening."""

    def __init__(self, backend: backends.Backend, following: Following) -> None:
        self._following = following
        self._waiting = Waiting(backend)
        self.listener = Listener(self._waiting.wake)
        following.listen(self.listener)

    async def __anext__(self) -> Event:
        """The next event. Raises how the connection ended."""
        while not self.listener:
            if self.listener.is_over:
                failure = self.listener.failure()
                if failure is not None:
                    raise failure
                raise StopAsyncIteration
            await self._waiting.signal().wait()
        return self.listener.take()

    def close(self) -> None:
        """Stops listening. What was heard so far can still be read."""
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


class AsyncEnding:
    """How a run ended, as soon as it has. Knows the reader of its events, and is not what the reader holds."""

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
        self.waiting: Waiting | None = None
        self.result: RunResult | BaseException | None = None

    async def wait(self) -> None:
        """Waits for it."""
        try:
            ended = await self._run.wait()
            self._catch_up()
        except Exception as error:
            self.result = error
            return
        self.result = RunResult.of(ended, last_said(self._conversation()))

    def over(self) -> None:
        """It came, or the loop ends."""
        if self.result is None:
            self.result = RuntimeError("nobody waits for the end of this run any more")
        try:
            self._catch_up()
        finally:
            self._listener.end(self.result if isinstance(self.result, BaseException) else self.result.failure)
            if self.waiting is not None:
                self.waiting.wake()


class AsyncRun:
    """The work that a prompt started, retries and compactions among it: an asynchronous iterator over what happens until it
    is over.

    Dropping it, as `close`, stops listening and nothing else: the agent goes on working (use `abort` to stop it).
    """

    run: AsyncRunBase[Any, Any]
    """The run of the dialect's client."""
    outcome: str | None
    """What the agent said that becomes of the words: `started`, `queued`, `handled`."""

    def __init__(
        self,
        run: AsyncRunBase[Any, Any],
        events: AsyncEvents,
        ending: AsyncEnding,
        backend: backends.Backend,
        outcome: str | None,
    ) -> None:
        """Use `AsyncAgent.prompt`."""
        self.run = run
        self.outcome = outcome
        self._events = events
        self._ending = ending
        self._backend = backend
        self._waiting = ending.waiting = Waiting(backend)
        self._is_read = False

    def __aiter__(self) -> AsyncIterator[Event]:
        self._is_read = True
        return self._events

    async def __anext__(self) -> Event:
        self._is_read = True
        return await anext(self._events)

    def close(self) -> None:
        """Stops listening. What was heard so far can still be read, and the result waited for."""
        self._events.close()

    async def result(self, *, timeout: float | None = None) -> RunResult:
        """Waits for the end of the run, whether or not its events are read.

        Raises `RunFailedError` if the request to the model failed, after the retries that the agent makes; else as `wait`.
        """
        return succeeded(await self.wait(timeout=timeout))

    async def wait(self, *, timeout: float | None = None) -> RunResult:
        """Waits for the end of the run as `result` does, and returns a run that failed as a result.

        Raises `RefusedError` if the agent refused the prompt after all, `TerminatedError` if the connection ended first, and
        `TimedOutError` if the run is not over after `timeout` seconds.
        """
        if self._ending.result is None and not await self._backend.within(timeout, self._waiting.signal().wait()):
            text = f"the run of `{self.run.command}` is not over after {timeout} s"
            raise TimedOutError(text, command=self.run.command, after=timeout or 0.0)
        if isinstance(self._ending.result, BaseException):
            raise self._ending.result
        assert self._ending.result is not None
        return self._ending.result

    async def text(self, *, timeout: float | None = None) -> str:
        """Waits for the end of the run and gives the text of the model's last message. Where nobody has begun to read the
        events, nobody listens to them any more."""
        if not self._is_read:
            self._events.close()
        return (await self.result(timeout=timeout)).text
