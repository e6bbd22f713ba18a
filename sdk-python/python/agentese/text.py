"""Text of an agent's answer, from the events of a run."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TextTable:
    """Location of the text in the events of a dialect."""

    begins: str
    """Event at the start of a message."""
    event: str
    """Event with pieces of text."""
    path: tuple[str, ...]
    """Path of attributes to the part, or to the list of parts, with a piece."""
    tag: tuple[str, str] | None
    """Attribute of a part, and its value for text parts."""
    piece: str
    """Attribute of the part that holds the piece."""

    def pieces(self, event: Any) -> list[str]:
        """Returns the pieces of text in an event."""
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
    """Text of the last message with any text."""

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
