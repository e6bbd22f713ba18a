"""Looking at every frame that passes."""

import logging
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from agentese._native import Connection

logger = logging.getLogger("agentese")

Direction: TypeAlias = Literal["sent", "received"]
"""Which way a frame goes, seen from the client."""

OnFrame: TypeAlias = Callable[[Direction, str], object]
"""Sees a frame: a line without its end, with keys taken out."""


def show(connection: Connection, frames: Iterable[tuple[Direction, str]], call: OnFrame) -> bool:
    """Shows frames, in order. A function that raises is not called again; says whether it may be."""
    for direction, text in frames:
        try:
            call(direction, text)
        except Exception:
            logger.exception("the function that looks at frames failed and is not called again")
            connection.stop_frames()
            return False
    return True


def serve(connection: Connection, call: OnFrame) -> None:
    """Shows frames on this thread until the connection is over."""
    while (frames := connection.next_frames()) is not None:
        if not show(connection, frames, call):
            return
