"""How an event loop learns what the native core has ready: one descriptor, one wake for everything."""

import asyncio
from collections.abc import Callable
from itertools import count

from agentese._native import Mailbox


class Reactor:
    """Tickets and who waits for them, on one event loop."""

    __slots__ = ("_closed", "_numbers", "_standing", "_waiting", "loop", "mailbox")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.mailbox = Mailbox()
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._standing: dict[int, Callable[[], object]] = {}
        self._closed = False
        loop.add_reader(self.mailbox.fileno(), self._drain)

    def ticket(self) -> int:
        """A number that nobody has."""
        return next(self._numbers)

    def stand(self, ticket: int, call: Callable[[], object]) -> None:
        """Calls back whenever that ticket comes, until `close`."""
        self._standing[ticket] = call

    def expect(self, ticket: int) -> "asyncio.Future[None]":
        """Begins to wait for a ticket now, whoever awaits the future and when."""
        future: asyncio.Future[None] = self.loop.create_future()
        self._waiting[ticket] = future
        return future

    async def wait(self, ticket: int, future: "asyncio.Future[None] | None" = None) -> None:
        """Waits for a ticket."""
        try:
            await (future or self.expect(ticket))
        finally:
            self._waiting.pop(ticket, None)
            self._release()

    def close(self) -> None:
        """Stops listening as soon as nobody waits any more."""
        self._closed = True
        self._standing.clear()
        self._release()

    def _release(self) -> None:
        if self._closed and not self._waiting and not self.loop.is_closed():
            self.loop.remove_reader(self.mailbox.fileno())

    def _drain(self) -> None:
        for ticket in self.mailbox.drain():
            future = self._waiting.pop(ticket, None)
            if future is not None:
                if not future.done():
                    future.set_result(None)
                self._release()
            elif (call := self._standing.get(ticket)) is not None:
                call()
