"""Bounded event queue for one reader."""

from collections import deque
from collections.abc import Callable, Iterable

from agentese.any.event import ArgumentsGrew, BlockChanged, Event, TextGrew, ThinkingGrew, ToolUpdated
from agentese.errors import DetachedError
from agentese.view.conversation import Block, Json

MAX_QUEUED_BYTES = 64 << 20
"""Approximate limit, in bytes, of the queued events of one listener. If an event exceeds it, the
listener ends with a `DetachedError`."""

EVENT_OVERHEAD = 128
"""Assumed memory of an event, and of each value in it, in bytes. The length of its text is added.
"""


def size(event: Event) -> int:
    """Returns the approximate memory of an event in bytes. Messages are not included, because the
    conversation holds the same objects."""
    match event:
        case TextGrew() | ThinkingGrew():
            return EVENT_OVERHEAD + len(event.text)
        case ArgumentsGrew():
            return EVENT_OVERHEAD + len(event.text or "") + _weight(event.arguments)
        case ToolUpdated():
            return EVENT_OVERHEAD + sum(map(_block, event.output)) + _weight(event.details)
        case BlockChanged():
            return EVENT_OVERHEAD + _block(event.value)
    return EVENT_OVERHEAD


def _block(block: Block) -> int:
    return EVENT_OVERHEAD + sum(len(value) for name in Block.__slots__ if isinstance(value := getattr(block, name), str))


def _weight(value: Json) -> int:
    if isinstance(value, str):
        return EVENT_OVERHEAD + len(value)
    if isinstance(value, dict):
        return EVENT_OVERHEAD + sum(map(_weight, value.values()))
    return EVENT_OVERHEAD + sum(map(_weight, value)) if isinstance(value, list) else EVENT_OVERHEAD


class Listener:
    """Queue of events for one reader."""

    __slots__ = ("_bytes", "_failure", "_waiting", "_wake", "is_ended")

    def __init__(self, wake: Callable[[], object]) -> None:
        self._waiting: deque[tuple[Event, int]] = deque()
        self._bytes = 0
        self.is_ended = False
        self._failure: BaseException | None = None
        self._wake = wake

    def __bool__(self) -> bool:
        """Returns `True` if events are queued."""
        return bool(self._waiting)

    def push(self, events: Iterable[tuple[Event, int]]) -> None:
        """Queues events, each given with its size."""
        if self.is_ended:
            return
        events = list(events)
        if self._bytes > MAX_QUEUED_BYTES:
            return self.end(DetachedError(f"{MAX_QUEUED_BYTES >> 20} MiB of events were not read", dropped=len(events)))
        self._waiting.extend(events)
        self._bytes += sum(size for _, size in events)
        self._wake()

    def take(self) -> Event:
        """Returns the next event."""
        event, size = self._waiting.popleft()
        self._bytes -= size
        return event

    def end(self, failure: BaseException | None = None) -> None:
        """Ends the queue; further events are ignored. The reader still receives the queued events,
        and then the exception `failure` once, if given."""
        if not self.is_ended:
            self.is_ended, self._failure = True, failure
            self._wake()

    def drop(self) -> None:
        """Drops the queued events, because the reader was dropped. Takes no lock and wakes no
        thread, so that a finalizer can call it at any point."""
        self.is_ended = True
        self._waiting = deque()

    def failure(self) -> BaseException | None:
        """Returns the failure at the first call, and `None` afterwards."""
        failure, self._failure = self._failure, None
        return failure
