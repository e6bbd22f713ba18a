"""Text of an agent's answer, collected from the events of a run."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TextTable:
    """Description of the attributes in which the events of a dialect contain the text of an
    answer.
    """

    begins: str
    """Type of the event at the start of a message."""
    event: str
    """Type of the events that contain text."""
    path: tuple[str, ...]
    """Path of attributes from the event to a content part, or to a list of them."""
    tag: tuple[str, str] | None
    """Attribute, with its value, that identifies a text part; `None` if all parts are text."""
    piece: str
    """Attribute of a text part that contains the new text."""

    def pieces(self, event: Any) -> list[str]:
        """Returns the new text in an event, one string for each text part."""
        if event.type != self.event:
            return []
        found = event
        for name in self.path:
            found = getattr(found, name)
        parts = found if isinstance(found, list) else [found]
        tag = self.tag
        return [getattr(part, self.piece) for part in parts if tag is None or getattr(part, tag[0], None) == tag[1]]


@dataclass(slots=True)
class LastText:
    """Collector of the text of the last message. Messages without text are ignored."""

    table: TextTable
    _pieces: list[str] = field(default_factory=list)
    _begins: bool = False
    has_events: bool = False
    """`True` after the first event."""

    def observe(self, event: Any) -> None:
        """Processes the next event of the run."""
        self.has_events = True
        if event.type == self.table.begins:
            self._begins = True
        for piece in self.table.pieces(event):
            if self._begins:
                self._pieces.clear()
                self._begins = False
            self._pieces.append(piece)

    def __str__(self) -> str:
        return "".join(self._pieces)
