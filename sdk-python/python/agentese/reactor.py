"""Wake-up of an event loop when operations of the native core are done. All operations share one
descriptor."""

from collections.abc import Callable
from itertools import count

from agentese._native import Mailbox, Operation
from agentese.backends import Backend, Signal


class Reactor:
    """Registry of tokens and of the tasks that wait for them, for one event loop.

    It watches its mailbox until it is closed, and afterwards while a task still waits. In a forked
    child it does nothing, because the loop's list of descriptors is shared with the parent.
    """

    __slots__ = ("_closed", "_listening", "_numbers", "_callbacks", "_waiting", "backend", "mailbox")

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.mailbox = Mailbox()
        self._numbers = count(1)
        self._waiting: dict[int, set[Signal]] = {}
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._closed = False
        self._listening = False
        self._listen()

    def token(self) -> int:
        """Returns an unused token."""
        return next(self._numbers)

    def on_token(self, token: int, call: Callable[[], object]) -> None:
        """Calls `call` every time the token arrives, until `close`."""
        self._callbacks[token] = call

    async def wait(self, token: int, pending: Operation | None = None) -> None:
        """Waits until the token arrives. Returns at once if the operation `pending` is already
        done. Any number of tasks can wait for the same token."""
        if pending is not None and pending.done:
            return
        signal = self.backend.signal()
        self._waiting.setdefault(token, set()).add(signal)
        self._listen()
        try:
            await signal.wait()
        finally:
            others = self._waiting.get(token)
            if others is not None:
                others.discard(signal)
                if not others:
                    del self._waiting[token]
            self._release()

    def close(self) -> None:
        """Removes all callbacks. The mailbox is no longer watched once no task waits."""
        self._closed = True
        self._callbacks.clear()
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
        for token in self.mailbox.drain():
            waiting = self._waiting.pop(token, None)
            if waiting is not None:
                for signal in waiting:
                    signal.set()
            elif (call := self._callbacks.get(token)) is not None:
                try:
                    call()
                except Exception as error:
                    # These tokens are not repeated, so all other tasks are notified before the
                    # exception is raised.
                    failure = failure or error
        self._release()
        if failure is not None:
            raise failure
