"""Undeclared records and events, which keep all their members."""

from typing import Literal

from agentese._native import Member, Record


class UnknownVariant(Record):
    """Record with an undeclared tag.

    The declared type of its `type` and `role` is a literal that no agent sends. So a comparison
    with any other value lets type checkers exclude this class. `tag` is the original value.
    """

    __slots__ = ()
    type: Literal["<unknown>"] = "<unknown>"
    role: Literal["<unknown>"] = "<unknown>"

    @property
    def tag(self) -> str | None:
        """Original `type` or `role`."""
        sent: str | None = _TYPE.__get__(self, UnknownVariant) or _ROLE.__get__(self, UnknownVariant)
        return sent


class UnknownEvent(UnknownVariant):
    """Event that the declaration does not contain."""

    __slots__ = ()


_TYPE = Member("type", "any", required=False)
_ROLE = Member("role", "any", required=False)
