"""Hooks by which msgspec reads and writes records; pydantic needs none."""

from typing import Any, TypeVar

from agentese._native import Record
from agentese.members import encode

T = TypeVar("T")


def enc_hook(value: Any) -> Any:
    """For `msgspec.json.encode(…, enc_hook=agentese.enc_hook)`: a record becomes the object that it is."""
    if isinstance(value, Record):
        return value.to_dict()
    raise NotImplementedError(f"{type(value).__name__} is not a record")


def dec_hook(kind: type[T], value: Any) -> T:
    """For `msgspec.json.Decoder(…, dec_hook=agentese.dec_hook)`: an object becomes a record, checked."""
    if isinstance(kind, type) and issubclass(kind, Record):
        return validate(kind, value)  # type: ignore[return-value]
    raise NotImplementedError(f"{kind!r} is not a class of records")


def validate(kind: type[Record], value: Any) -> Record:
    """A record of that class, from itself, its members or their JSON text. Raises `EncodeError`, a `ValueError`, where a
    member does not fit its declaration."""
    if isinstance(value, kind):
        return value
    return kind._checked(encode(value))


def pydantic_schema(kind: type[Record]) -> Any:
    """What pydantic is told of a class of records."""
    from pydantic_core import core_schema

    return core_schema.no_info_plain_validator_function(
        lambda value: validate(kind, value),
        serialization=core_schema.plain_serializer_function_ser_schema(lambda record: record.to_dict()),
        json_schema_input_schema=core_schema.dict_schema(),
    )
