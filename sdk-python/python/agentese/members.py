"""Members of commands on their way out."""

import enum
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from agentese._native import Decoder, Member, Record
from agentese.hints import meant


class Default(enum.Enum):
    """The one value that says: what the declaration says."""

    DEFAULT = "default"

    def __repr__(self) -> str:
        return "DEFAULT"


DEFAULT = Default.DEFAULT
"""Leaves a parameter out, where `None` would be sent; the declared time limit of a command."""

Timeout: TypeAlias = float | None | Default
"""How long a call waits, in seconds; `None` is without a limit."""


class _Null(enum.Enum):
    NULL = "null"


def null(value: Any) -> Any:
    """Marks `None` as a value that is sent."""
    return _Null.NULL if value is None else value


def _other(value: object) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if value is _Null.NULL:
        return None
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (tuple, set, frozenset)) or hasattr(value, "__iter__"):
        return list(value)  # type: ignore[call-overload]
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _sound(text: str) -> str:
    # Half a surrogate pair cannot be sent: it becomes U+FFFD, as everywhere in agentese.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encode(value: Any) -> str:
    """The JSON text of a value; fails with `TypeError` or `ValueError` where it has none."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_other)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _sound(text)
    return text


def construct(kind: type[Record], given: Mapping[str, Any] | None) -> str:
    """The JSON text of a record with those members, by the names of the attributes.

    Fails with `TypeError` where a member is missing or there is none of that name.
    """
    given = given or {}
    constants: Mapping[str, str] | None = getattr(kind, "_constants", None)
    if constants is None:
        raise TypeError(f"{kind.__name__} declares no members: use from_dict() or from_json()")
    names: tuple[str, ...] = kind.__match_args__  # type: ignore[attr-defined]
    members: dict[str, Member] = {name: getattr(kind, name) for name in names}
    for name in given:
        if name not in members:
            raise TypeError(f"{kind.__name__} has no member `{name}`{meant(name, names)}")
    missing = [name for name, member in members.items() if member.required and name not in given]
    if missing:
        raise TypeError(f"{kind.__name__} needs {', '.join(f'`{name}`' for name in missing)}")
    parts = [f"{encode(name)}:{value}" for name, value in constants.items()]
    for name, member in members.items():
        if name in given and (given[name] is not None or member.required):
            parts.append(f"{encode(member.name)}:{encode(given[name])}")
    return "{" + ",".join(parts) + "}"


def encode_members(members: Mapping[str, Any]) -> str:
    """The JSON text of a command's members; what is `None` or `DEFAULT` is left out."""
    return encode({name: value for name, value in members.items() if value is not None and value is not DEFAULT})


def checked(command: str, members: Mapping[str, Any], declared: Decoder | None) -> str:
    """The JSON text of a command's members. Raises `EncodeError` where one does not fit its declaration."""
    text = encode_members(members)
    if declared is not None:
        declared.check(text, command)
    return text


def limit(timeout: Timeout) -> float | bool | None:
    """A time limit as the native core takes it."""
    return True if timeout is DEFAULT else timeout
