"""The text of an agent's answer, out of the events of a run."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TextTable:
    """Where the text stands in the events of a dialect."""

    begins: str
    """The event with which a message begins."""
    event: str
    """The event that carries pieces."""
    path: tuple[str, ...]
    """The attributes that lead to the part, or the list of parts, that carries a piece."""
    tag: tuple[str, str] | None
    """The attribute of a part, and its value where the part is text."""
    piece: str
    """The attribute of the part that is the piece."""

    def pieces(self, event: Any) -> list[str]:
        """The pieces of text that an event carries."""
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
    """The text of the last message that has any."""

    table: TextTable
    _pieces: list[str] = field(default_factory=list)
    _begins: bool = False
    has_seen: bool = False
    """Whether there was any event."""

    def see(self, event: Any) -> None:
        """The next event of the run."""
        self.has_seen = True
        if event.type == self.table.begins:
            self._begins = True
        for piece in self.table.pieces(event):
            if self._begins:
                self._pieces.clear()
                self._begins = False
            self._pieces.append(piece)

    def __str__(self) -> str:
        return "".join(self._pieces)
