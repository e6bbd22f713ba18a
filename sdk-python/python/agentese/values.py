"""JSON values."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = "None | bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue]"
"""Any JSON value."""

JsonObject: TypeAlias = Mapping[str, JsonValue]
"""Any JSON object."""
