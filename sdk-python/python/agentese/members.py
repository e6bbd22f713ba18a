"""Members of outgoing commands."""

import enum
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from agentese._native import Decoder, Member, Record
from agentese.hints import suggest


class Default(enum.Enum):
    """Type of the constant `DEFAULT`."""

    DEFAULT = "default"

    def __repr__(self) -> str:
        return "DEFAULT"


DEFAULT = Default.DEFAULT
"""Marker of an omitted parameter, for parameters whose `None` is sent as null. As a time limit, it
selects the declared limit of the command."""

Timeout: TypeAlias = float | None | Default
"""Time limit of a call in seconds. `None` means no limit."""


class _Null(enum.Enum):
    NULL = "null"


def null(value: Any) -> Any:
    """Replaces `None` by a marker, so that the member is sent as null instead of being omitted."""
    return _Null.NULL if value is None else value


def _encode_default(value: object) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if value is _Null.NULL:
        return None
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (tuple, set, frozenset)) or hasattr(value, "__iter__"):
        return list(value)  # type: ignore[call-overload]
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _replace_surrogates(text: str) -> str:
    # A lone surrogate cannot be sent. It is replaced by U+FFFD, as everywhere in agentese.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encode(value: Any) -> str:
    """Returns the JSON text of a value. Raises `TypeError` or `ValueError` if the value has no JSON form."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_encode_default)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _replace_surrogates(text)
    return text


def construct(kind: type[Record], given: Mapping[str, Any] | None) -> str:
    """Returns the JSON text of a record. `given` contains its members by attribute name.

    Raises `TypeError` if a member is missing or unknown.
    """
    given = given or {}
    constants: Mapping[str, str] | None = getattr(kind, "_constants", None)
    if constants is None:
        raise TypeError(f"{kind.__name__} declares no members: use from_dict() or from_json()")
    names: tuple[str, ...] = kind.__match_args__  # type: ignore[attr-defined]
    members: dict[str, Member] = {name: getattr(kind, name) for name in names}
    for name in given:
        if name not in members:
            raise TypeError(f"{kind.__name__} has no member `{name}`{suggest(name, names)}")
    missing = [name for name, member in members.items() if member.required and name not in given]
    if missing:
        raise TypeError(f"{kind.__name__} needs {', '.join(f'`{name}`' for name in missing)}")
    parts = [f"{encode(name)}:{value}" for name, value in constants.items()]
    for name, member in members.items():
        if name in given and (given[name] is not None or member.required):
            parts.append(f"{encode(member.name)}:{encode(given[name])}")
    return "{" + ",".join(parts) + "}"


def encode_members(members: Mapping[str, Any]) -> str:
    """Returns the JSON text of a command's parameters. Parameters that are `None` or `DEFAULT` are omitted."""
    return encode({name: value for name, value in members.items() if value is not None and value is not DEFAULT})


def checked(command: str, members: Mapping[str, Any], declared: Decoder | None) -> str:
    """Validates a command's parameters and returns their JSON text. Raises `EncodeError` if a
    parameter does not fit its declaration."""
    text = encode_members(members)
    if declared is not None:
        declared.check(text, command)
    return text


def limit(timeout: Timeout) -> float | bool | None:
    """Converts a time limit to the form of the native core."""
    return True if timeout is DEFAULT else timeout
