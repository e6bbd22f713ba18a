"""Events that wait for one reader, bounded by what they take."""

from collections import deque
from collections.abc import Callable, Iterable

from agentese.any.event import ArgumentsGrew, BlockChanged, Event, TextGrew, ThinkingGrew, ToolUpdated
from agentese.errors import DetachedError
from agentese.view.conversation import Block, Json

MOST = 64 << 20
"""About how many bytes of events wait for one listener at most; beyond that it is cut off."""

ONE = 128
"""What one event, or one value in it, counts besides its text, in bytes."""


def size(event: Event) -> int:
    """About how much an event takes, in bytes. Messages are shared with the conversation."""
    match event:
        case TextGrew() | ThinkingGrew():
            return ONE + len(event.text)
        case ArgumentsGrew():
            return ONE + len(event.text or "") + _weight(event.arguments)
        case ToolUpdated():
            return ONE + sum(map(_block, event.output)) + _weight(event.details)
        case BlockChanged():
            return ONE + _block(event.value)
    return ONE


def _block(block: Block) -> int:
    return ONE + sum(len(value) for name in Block.__slots__ if isinstance(value := getattr(block, name), str))


def _weight(value: Json) -> int:
    if isinstance(value, str):
        return ONE + len(value)
    if isinstance(value, dict):
        return ONE + sum(map(_weight, value.values()))
    return ONE + sum(map(_weight, value)) if isinstance(value, list) else ONE


class Listener:
    """Events that wait for one reader."""

    __slots__ = ("_bytes", "_failure", "_waiting", "_wake", "is_over")

    def __init__(self, wake: Callable[[], object]) -> None:
        self._waiting: deque[tuple[Event, int]] = deque()
        self._bytes = 0
        self.is_over = False
        self._failure: BaseException | None = None
        self._wake = wake

    def __bool__(self) -> bool:
        """Whether events wait."""
        return bool(self._waiting)

    def push(self, told: Iterable[tuple[Event, int]]) -> None:
        """Something happened: events and their sizes."""
        if self.is_over:
            return
        told = list(told)
        if self._bytes > MOST:
            return self.end(DetachedError(f"{MOST >> 20} MiB of events were not read", dropped=len(told)))
        self._waiting.extend(told)
        self._bytes += sum(size for _, size in told)
        self._wake()

    def take(self) -> Event:
        """The next event."""
        event, size = self._waiting.popleft()
        self._bytes -= size
        return event

    def end(self, failure: BaseException | None = None) -> None:
        """Nothing follows what is there; `failure` is raised then, once."""
        if not self.is_over:
            self.is_over, self._failure = True, failure
            self._wake()

    def drop(self) -> None:
        """Nobody reads any more. Takes no lock and wakes nobody: a finalizer may call it anywhere."""
        self.is_over = True
        self._waiting = deque()

    def failure(self) -> BaseException | None:
        """How it failed, once."""
        failure, self._failure = self._failure, None
        return failure
