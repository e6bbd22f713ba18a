"""Context of acts besides their slots."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from agentese.view.conversation import Conversation, Json


@dataclass(frozen=True, slots=True)
class ReducerContext:
    """Frame of an act."""

    name: str
    """Name of the row."""
    id: Json
    """Id of the command or the dialog."""
    at: float | None
    """Time of arrival of the frame, in milliseconds since the epoch."""
    names: tuple[str, ...]
    """Names of all slots, including those without a value."""
    child: Callable[[Conversation | None, dict[str, Json]], Conversation]
    """Function that folds an event into the conversation of a subagent."""


def id_text(id: Json) -> str:
    """Returns an id in comparable form."""
    return "" if id is None else json.dumps(id, separators=(",", ":"), ensure_ascii=False)
