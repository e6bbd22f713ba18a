"""Observers of frames and lines of stderr, and the debug log."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from agentese._native import Connection

logger = logging.getLogger("agentese")

Direction: TypeAlias = Literal["sent", "received"]
"""Direction of a frame from the client's point of view."""

OnFrame: TypeAlias = Callable[[Direction, str], object]
"""Callback for each frame. It receives the direction, and the line without its end and with keys
redacted. The callback receives a frame before the subscribers do."""

OnStderr: TypeAlias = Callable[[str], object]
"""Callback that receives each line of the agent's stderr, without its end."""


class Tap:
    """Observers of one connection."""

    __slots__ = ("_log", "_on_frame", "_on_stderr")

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._on_frame: OnFrame | None = options.get("on_frame")
        self._on_stderr: OnStderr | None = options.get("on_stderr")
        self._log = logger.isEnabledFor(logging.DEBUG)

    @property
    def wants(self) -> dict[str, bool]:
        """Kinds of lines that the native core has to store for the observers, as flags."""
        return {
            "frames": self._log or self._on_frame is not None,
            "stderr": self._log or self._on_stderr is not None,
            "diagnostics": self._log,
        }

    def __bool__(self) -> bool:
        return any(self.wants.values())

    def deliver(self, connection: Connection, seen: Iterable[tuple[Any, str]]) -> bool:
        """Passes frames to the observers in order. Returns `False` if no observer wants further frames."""
        for kind, text in seen:
            if self._log:
                logger.debug("%s %s", kind, text)
            if kind == "stderr":
                self._on_stderr = _call(self._on_stderr, "on_stderr", text)
            elif kind != "diagnostic":
                self._on_frame = _call(self._on_frame, "on_frame", kind, text)
        if not self:
            connection.stop_frames()
        return bool(self)

    def serve(self, connection: Connection) -> None:
        """Passes frames to the observers on this thread until the end of the connection."""
        while (seen := connection.next_frames()) is not None:
            if not self.deliver(connection, seen):
                return


def _call(function: Any, name: str, *given: str) -> Any:
    """Calls an observer, if there is one. Returns the observer, or `None` if it raised an
    exception, so that it is not called again."""
    if function is None:
        return None
    try:
        function(*given)
    except Exception:
        logger.exception("%s raised an exception and is not called again", name)
        return None
    return function
