"""Functions that see what passes: frames, lines of stderr; and the debug log."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from agentese._native import Connection

logger = logging.getLogger("agentese")

Direction: TypeAlias = Literal["sent", "received"]
"""Which way a frame goes, seen from the client."""

OnFrame: TypeAlias = Callable[[Direction, str], object]
"""Called with each frame when it is read, which is before those who listen have it: a line without its end, with keys taken
out."""

OnStderr: TypeAlias = Callable[[str], object]
"""Called with each line that the agent writes to stderr, without its end."""


class Tap:
    """What is shown of one connection, and to whom."""

    __slots__ = ("_log", "_on_frame", "_on_stderr")

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._on_frame: OnFrame | None = options.get("on_frame")
        self._on_stderr: OnStderr | None = options.get("on_stderr")
        self._log = logger.isEnabledFor(logging.DEBUG)

    @property
    def wants(self) -> dict[str, bool]:
        """What the native core is to keep for this."""
        return {
            "frames": self._log or self._on_frame is not None,
            "stderr": self._log or self._on_stderr is not None,
            "diagnostics": self._log,
        }

    def __bool__(self) -> bool:
        return any(self.wants.values())

    def show(self, connection: Connection, seen: Iterable[tuple[Any, str]]) -> bool:
        """Shows what passed, in order. Says whether anybody wants to see more."""
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
        """Shows what passes on this thread until the connection is over."""
        while (seen := connection.next_frames()) is not None:
            if not self.show(connection, seen):
                return


def _call(function: Any, name: str, *given: str) -> Any:
    """Calls a function, where there is one. One that raises is not called again."""
    if function is None:
        return None
    try:
        function(*given)
    except Exception:
        logger.exception("%s raised an exception and is not called again", name)
        return None
    return function
