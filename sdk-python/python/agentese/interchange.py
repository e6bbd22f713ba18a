"""Hooks that let msgspec read and write records; pydantic needs no hooks."""

from typing import Any, TypeVar

from agentese._native import Record
from agentese.members import encode

T = TypeVar("T")


def enc_hook(value: Any) -> Any:
    """Converts a record to a dict, for `msgspec.json.encode(…, enc_hook=agentese.enc_hook)`."""
    if isinstance(value, Record):
        return value.to_dict()
    raise NotImplementedError(f"{type(value).__name__} is not a record")


def dec_hook(kind: type[T], value: Any) -> T:
    """Converts a dict to a validated record, for `msgspec.json.Decoder(…, dec_hook=agentese.dec_hook)`."""
    if isinstance(kind, type) and issubclass(kind, Record):
        return validate(kind, value)  # type: ignore[return-value]
    raise NotImplementedError(f"{kind!r} is not a class of records")


def validate(kind: type[Record], value: Any) -> Record:
    """Converts a value to a record of the class: the record itself, or a dict of its members. Raises
    `EncodeError`, a `ValueError`, if a member does not fit its declaration."""
    if isinstance(value, kind):
        return value
    return kind._checked(encode(value))


def pydantic_schema(kind: type[Record]) -> Any:
    """Returns the pydantic schema of a class of records."""
    from pydantic_core import core_schema

    return core_schema.no_info_plain_validator_function(
        lambda value: validate(kind, value),
        serialization=core_schema.plain_serializer_function_ser_schema(lambda record: record.to_dict()),
        json_schema_input_schema=core_schema.dict_schema(),
    )
