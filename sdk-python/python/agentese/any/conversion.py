"""Conversion between neutral values and Python objects."""

from collections.abc import Sequence
from typing import Any, TypeVar

from agentese.any.results import Image
from agentese.view.conversation import ViewRecord

R = TypeVar("R", bound=ViewRecord)


def image_params(images: Sequence[Image] | None) -> list[dict[str, str]] | None:
    """Converts images to the neutral parameter `images`."""
    if not images:
        return None
    return [{"type": "image", "mimeType": image["mimeType"], "data": image["data"]} for image in images]


def record(kind: type[R], value: Any) -> R | None:
    """Converts a value to a record of the class. Returns `None` if the value is not an object."""
    return kind.of(value) if isinstance(value, dict) else None


def records(kind: type[R], values: Any) -> tuple[R, ...]:
    """Converts the items of a list to records of the class."""
    return tuple(kind.of(value) for value in values or () if isinstance(value, dict))
