"""Access to all declared members of a record, at any depth."""

from typing import Any

from agentese import Record


def walk(value: Any) -> int:
    """Reads every declared member at any depth, so that each is decoded. Returns the
    number of records.
    """
    if isinstance(value, Record):
        members = getattr(type(value), "__match_args__", ())
        return 1 + sum(walk(getattr(value, name)) for name in members)
    if isinstance(value, list):
        return sum(map(walk, value))
    if isinstance(value, dict):
        return sum(map(walk, value.values()))
    return 0
