"""Notification of an event loop about completed operations of the native core: one descriptor, one wake-up
for all."""

from collections.abc import Callable
from itertools import count

from agentese._native import Mailbox, Pending
from agentese.backends import Backend, Signal


class Reactor:
    """Tickets and their waiting tasks, on one event loop.

    It listens until it is closed, and afterwards while a task waits. In a forked child it does nothing,
    because parent and child share the loop's list of descriptors.
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
        """Returns an unused number."""
        return next(self._numbers)

    def stand(self, ticket: int, call: Callable[[], object]) -> None:
        """Calls `call` for each arrival of the ticket, until `close`."""
        self._standing[ticket] = call

    async def wait(self, ticket: int, pending: Pending | None = None) -> None:
        """Waits for a ticket, unless its operation is already done. Any number of tasks may wait for one
        ticket."""
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
        """Stops listening as soon as no task waits."""
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
                    # These tickets are not repeated, so the other waiting tasks are notified first.
                    failure = failure or error
        self._release()
        if failure is not None:
            raise failure
