"""Backends for the asynchronous libraries asyncio and trio. A program that uses anyio runs on one of these two.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from agentese.socket_watcher import SocketWatcher

logger = logging.getLogger("agentese")


class Signal(Protocol):
    """One-time event that any number of tasks can await."""

    def set(self) -> None:
        """Sets the event."""

    async def wait(self) -> None:
        """Waits until the event is set."""


class Backend(Protocol):
    """Operations that a client needs from an asynchronous library."""

    def signal(self) -> Signal:
        """Returns a new signal for tasks of the current event loop."""

    def start(self, work: Callable[[], Coroutine[Any, Any, None]], done: Callable[[], object]) -> Callable[[], object]:
        """Starts a background task. Calls `done` when the task ends. Returns a function that cancels the task."""

    def add_reader(self, descriptor: int, call: Callable[[], None]) -> None:
        """Calls `call` each time the descriptor becomes readable."""

    def remove_reader(self, descriptor: int) -> None:
        """Removes the callback that `add_reader` registered for the descriptor."""

    async def within(self, seconds: float | None, work: Awaitable[object]) -> bool:
        """Waits for `work` for at most `seconds`. Returns `False` if the time limit passed first.
        """

    async def yield_(self) -> None:
        """Yields to other tasks."""


class _AsyncioSignal:
    __slots__ = ("_future",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._future: asyncio.Future[None] = loop.create_future()

    def set(self) -> None:
        if not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        await self._future


class Asyncio:
    """Backend for asyncio."""

    __slots__ = ("_tasks", "_watched", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._watched: dict[int, SocketWatcher] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def signal(self) -> Signal:
        return _AsyncioSignal(self.loop)

    def start(self, work: Callable[[], Coroutine[Any, Any, None]], done: Callable[[], object]) -> Callable[[], object]:
        task = self.loop.create_task(work())
        self._tasks.add(task)

        def over(task: "asyncio.Task[None]") -> None:
            self._tasks.discard(task)
            done()

        task.add_done_callback(over)
        return task.cancel

    def add_reader(self, descriptor: int, call: Callable[[], None]) -> None:
        try:
            self.loop.add_reader(descriptor, call)
        except NotImplementedError:
            self._watched[descriptor] = SocketWatcher(self.loop, descriptor, call)

    def remove_reader(self, descriptor: int) -> None:
        watch = self._watched.pop(descriptor, None)
        if watch is not None:
            watch.stop()
        elif not self.loop.is_closed():
            self.loop.remove_reader(descriptor)

    async def within(self, seconds: float | None, work: Awaitable[object]) -> bool:
        scope = asyncio.timeout(seconds)
        try:
            async with scope:
                await work
        except TimeoutError:
            if not scope.expired():
                raise
            return False
        return True

    async def yield_(self) -> None:
        await asyncio.sleep(0)


class Trio:
    """Backend for trio. Its background tasks and readers are system tasks, which end together with `trio.run`."""

    __slots__ = ("_readers", "_token", "_trio")

    def __init__(self, trio: Any) -> None:
        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        self._readers: dict[int, Any] = {}

    def signal(self) -> Signal:
        signal: Signal = self._trio.Event()
        return signal

    def start(self, work: Callable[[], Coroutine[Any, Any, None]], done: Callable[[], object]) -> Callable[[], object]:
        scope = self._trio.CancelScope()

        async def run() -> None:
            with scope:
                try:
                    await work()
                except Exception:
                    logger.exception("a task in the background failed")
                finally:
                    done()

        self._trio.lowlevel.spawn_system_task(run)
        cancel: Callable[[], object] = scope.cancel
        return cancel

    def add_reader(self, descriptor: int, call: Callable[[], None]) -> None:
        scope = self._readers[descriptor] = self._trio.CancelScope()

        async def read() -> None:
            with scope:
                while True:
                    await self._trio.lowlevel.wait_readable(descriptor)
                    try:
                        call()
                    except Exception:
                        logger.exception("a callback of the event loop failed")

        self._trio.lowlevel.spawn_system_task(read)

    def remove_reader(self, descriptor: int) -> None:
        scope = self._readers.pop(descriptor, None)
        if scope is not None and self._trio.lowlevel.in_trio_run():
            scope.cancel()

    async def within(self, seconds: float | None, work: Awaitable[object]) -> bool:
        with self._trio.move_on_after(float("inf") if seconds is None else seconds) as scope:
            await work
        return not scope.cancelled_caught

    async def yield_(self) -> None:
        await self._trio.lowlevel.checkpoint()


def current() -> Backend:
    """Returns the backend of the asynchronous library that runs the calling task. Raises `RuntimeError` if no
    task is running."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return Trio(trio)
    return Asyncio()
