"""Data about the current frame for reducers, in addition to their bindings."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from agentese.view.conversation import Conversation, Json


@dataclass(frozen=True, slots=True)
class ReducerContext:
    """Data about the frame that a reducer applies."""

    name: str
    """Name of the command, event or dialog."""
    id: Json
    """Id of the command or the dialog."""
    at: float | None
    """Time of arrival of the frame, in milliseconds since the epoch."""
    names: tuple[str, ...]
    """Names of all bindings, including those without a value."""
    child: Callable[[Conversation | None, dict[str, Json]], Conversation]
    """Function that folds an event into the conversation of a subagent."""


def id_text(id: Json) -> str:
    """Returns an id as text, so that ids can be compared."""
    return "" if id is None else json.dumps(id, separators=(",", ":"), ensure_ascii=False)
