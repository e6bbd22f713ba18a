"""Members of commands on their way out."""

import enum
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from agentese._native import Record


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
    raise TypeError(f"{type(value).__name__} is no JSON value")


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


def encode_members(members: Mapping[str, Any]) -> str:
    """The JSON text of a command's members; what is `None` or `DEFAULT` is left out."""
    return encode({name: value for name, value in members.items() if value is not None and value is not DEFAULT})


def limit(timeout: Timeout) -> float | bool | None:
    """A time limit as the native core takes it."""
    return True if timeout is DEFAULT else timeout
