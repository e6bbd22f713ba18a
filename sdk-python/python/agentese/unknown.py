"""What the declaration does not name: kept, never lost."""

from typing import Literal

from agentese._native import Member, Record


class Unknown(Record):
    """A record with a tag that the declaration does not name.

    Its `type` and `role` are a literal that no agent sends, so that comparing them narrows; `tag` is what was sent.
    """

    __slots__ = ()
    type: Literal["<unknown>"] = "<unknown>"
    role: Literal["<unknown>"] = "<unknown>"

    @property
    def tag(self) -> str | None:
        """The `type` or `role` that was sent."""
        sent: str | None = _TYPE.__get__(self, Unknown) or _ROLE.__get__(self, Unknown)
        return sent


class UnknownEvent(Unknown):
    """An event that the declaration does not name."""

    __slots__ = ()


_TYPE = Member("type", "any", required=False)
_ROLE = Member("role", "any", required=False)
