"""How an event loop learns what the native core has ready: one descriptor, one wake for everything."""

from collections.abc import Callable
from itertools import count

from agentese._native import Mailbox, Pending
from agentese.backends import Backend, Signal


class Reactor:
    """Tickets and who waits for them, on one event loop.

    It listens until it is closed, and after that whenever somebody waits. In a forked child it does nothing: the
    loop's list of descriptors is the parent's too.
    """

    __slots__ = ("_closed", "_listening", "_numbers", "_standing", "_waiting", "backend", "mailbox")

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.mailbox = Mailbox()
        self._numbers = count(1)
        self._waiting: dict[int, set[Signal]] = {}
        self._standing: dict[int, Callable[[], object]] = {}
        self._closed = False
        self._listening = False
        self._listen()

    def ticket(self) -> int:
        """A number that nobody has."""
        return next(self._numbers)

    def stand(self, ticket: int, call: Callable[[], object]) -> None:
        """Calls back whenever that ticket comes, until `close`."""
        self._standing[ticket] = call

    async def wait(self, ticket: int, pending: Pending | None = None) -> None:
        """Waits for a ticket, or not at all where what it is for is done. Any number of tasks may wait for one."""
        if pending is not None and pending.done:
            return
        signal = self.backend.signal()
        self._waiting.setdefault(ticket, set()).add(signal)
        self._listen()
        try:
            await signal.wait()
        finally:
            others = self._waiting.get(ticket)
            if others is not None:
                others.discard(signal)
                if not others:
                    del self._waiting[ticket]
            self._release()

    def close(self) -> None:
        """Stops listening as soon as nobody waits any more."""
        self._closed = True
        self._standing.clear()
        self._release()

    def _listen(self) -> None:
        if not self._listening and not self.mailbox.inherited:
            self.backend.add_reader(self.mailbox.fileno(), self._drain)
            self._listening = True

    def _release(self) -> None:
        if self._closed and self._listening and not self._waiting and not self.mailbox.inherited:
            self._listening = False
            self.backend.remove_reader(self.mailbox.fileno())

    def _drain(self) -> None:
        if self.mailbox.inherited:
            return
        failure: Exception | None = None
        for ticket in self.mailbox.drain():
            waiting = self._waiting.pop(ticket, None)
            if waiting is not None:
                for signal in waiting:
                    signal.set()
            elif (call := self._standing.get(ticket)) is not None:
                try:
                    call()
                except Exception as error:
                    # These tickets do not come again: everybody else is told first.
                    failure = failure or error
        self._release()
        if failure is not None:
            raise failure
