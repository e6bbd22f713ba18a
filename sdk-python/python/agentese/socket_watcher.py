"""Watcher of a socket for event loops that cannot watch it, such as asyncio's default loop on
Windows.
"""

import asyncio
import select
import socket
import threading
from collections.abc import Callable

PATIENCE = 10.0
"""Interval in seconds between checks that the loop is still open."""


class SocketWatcher:
    """Calls a function on the event loop whenever a socket is readable, until `stop` or the end of the loop.

    A thread waits until the socket is readable. After the callback has read the available data, the thread
    waits again.
    """

    __slots__ = ("_call", "_loop", "_dispatched", "_stopped", "_thread", "_wake")

    def __init__(self, loop: asyncio.AbstractEventLoop, descriptor: int, call: Callable[[], None]) -> None:
        self._loop, self._call = loop, call
        self._dispatched, self._stopped = threading.Event(), False
        # The thread also waits for this pair, so that `stop` can wake it.
        self._wake, woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, args=(descriptor, woken), name="agentese-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread and waits for it. Afterwards the caller may close the socket."""
        self._stopped = True
        self._dispatched.set()
        self._wake.close()
        self._thread.join()

    def _run(self, descriptor: int, woken: socket.socket) -> None:
        sockets: list[int | socket.socket] = [descriptor, woken]
        with woken:
            while not self._stopped and not self._loop.is_closed():
                # `stop` sets `_stopped` before this event, so the event is cleared before
                # `_stopped` is checked.
                self._dispatched.clear()
                if descriptor not in select.select(sockets, [], [], PATIENCE)[0] or self._stopped:
                    continue
                try:
                    self._loop.call_soon_threadsafe(self._dispatch)
                except RuntimeError:
                    return  # The loop is closed.
                while not self._dispatched.wait(PATIENCE) and not self._loop.is_closed():
                    pass

    def _dispatch(self) -> None:
        try:
            if not self._stopped:
                self._call()
        finally:
            self._dispatched.set()
