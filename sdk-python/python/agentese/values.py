"""Types of JSON values."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from typing import TypedDict as TypedDict

    JsonValue: TypeAlias = "None | bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue]"
    """Any JSON value."""
else:
    import sys

    # pydantic and msgspec read these types at run time. Neither accepts a recursive alias. Before
    # Python 3.12, pydantic needs the TypedDict of `typing_extensions` (the extra
    # `agentese[pydantic]` installs it).
    JsonValue = Any
    from typing import TypedDict

    if sys.version_info < (3, 12):
        try:
            from typing_extensions import TypedDict
        except ImportError:
            pass

JsonObject: TypeAlias = Mapping[str, JsonValue]
"""Any JSON object."""
