"""What acts know besides their slots."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from agentese.view.conversation import Conversation, Json


@dataclass(frozen=True, slots=True)
class About:
    """The frame that an act belongs to."""

    name: str
    """The row's name."""
    id: Json
    """The id of the command or the dialog."""
    at: float | None
    """When the frame came, in milliseconds since the epoch."""
    names: tuple[str, ...]
    """The names of all slots, those without a value among them."""
    child: Callable[[Conversation | None, dict[str, Json]], Conversation]
    """Folds an event into the conversation of a subagent."""


def id_text(id: Json) -> str:
    """An id as it is compared."""
    return "" if id is None else json.dumps(id, separators=(",", ":"), ensure_ascii=False)
