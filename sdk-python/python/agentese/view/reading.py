"""Lookup of values in frames, and their conversion to neutral values. `None` means that a value is
absent.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any

Json = Any
MeaningTable = dict[str, Any]

STRING = "(string)"
"""Key in a table for values that are strings."""
OTHER = "(other)"
"""Key in a table for all values without an entry of their own."""


@cache
def meaning_of(dialect: str) -> MeaningTable:
    """Returns the meaning table of a dialect. Raises `ValueError` if the dialect is unknown."""
    folder = files("agentese.generated") / "meaning"
    file = folder / f"{dialect}.json"
    if not dialect.isidentifier() or not file.is_file():
        known = ", ".join(sorted(item.name.removesuffix(".json") for item in folder.iterdir()))
        raise ValueError(f'unknown dialect "{dialect}"; known: {known}')
    return json.loads(file.read_text(encoding="utf-8"))


def at(value: Json, path: str) -> Json:
    """Returns the value at a path of names and indices that are separated by dots."""
    for name in filter(None, path.split(".")):
        if isinstance(value, list):
            value = value[int(name)] if name.isdecimal() and int(name) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def scalar_text(value: Json) -> str | None:
    """Converts a string, number or boolean to the text that tables use. Returns `None` for other values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def holds(tests: list[dict[str, Any]], value: Json) -> bool:
    """Returns `True` if the value satisfies all conditions."""
    return all(_holds(test, value) for test in tests)


def _holds(test: dict[str, Any], value: Json) -> bool:
    [(kind, operand)] = test.items()
    match kind:
        case "is":
            return scalar_text(at(value, operand[0])) == operand[1]
        case "not":
            return scalar_text(at(value, operand[0])) != operand[1]
        case "has":
            return at(value, operand) is not None
        case _:
            return at(value, operand) is None


def read_all(meaning: MeaningTable, sources: dict[str, Any], value: Json) -> dict[str, Json]:
    """Returns the values of all sources by name. Sources without a value are omitted."""
    found = ((name, read(meaning, source, value)) for name, source in sources.items())
    return {name: item for name, item in found if item is not None}


def read(meaning: MeaningTable, source: Any, value: Json) -> Json:
    """Returns the value that a source describes; `None` if it is absent."""
    match source:
        case str(path):
            return at(value, path)
        case {"is": constant}:
            return constant
        case {"read": reader, "of": path}:
            return _neutral(meaning, reader, at(value, path))
        case {"each": reader, "of": path}:
            return _each(meaning, reader, at(value, path))
        case {"map": path, "to": values}:
            return values.get(scalar_text(at(value, path)))
        case {"times": factor, "of": path}:
            number = at(value, path)
            return number * factor if isinstance(number, int | float) else None
        case {"text": path}:
            return scalar_text(at(value, path))
        case {"count": path}:
            items = at(value, path)
            return len(items) if isinstance(items, list) else None
        case {"join": sources}:
            lists = [read(meaning, part, value) for part in sources]
            return [item for items in lists if isinstance(items, list) for item in items]
        case {"first": sources}:
            return next((item for part in sources if (item := read(meaning, part, value)) is not None), None)
        case _:
            return None


def _each(meaning: MeaningTable, reader: str, value: Json) -> Json:
    if value is None:
        return None
    items = value if isinstance(value, list) else [] if value == "" else [value]
    return [made for item in items if (made := _neutral(meaning, reader, item)) is not None]


def _neutral(meaning: MeaningTable, name: str, value: Json) -> Json:
    reader = meaning["readers"].get(name)
    if value is None or reader is None:
        return None
    tag = reader["tag"]
    kind = STRING if isinstance(value, str) else OTHER if tag == "" else scalar_text(at(value, tag))
    for wanted in (kind, OTHER):
        for case in reader["cases"]:
            if case["tag"] == wanted and holds(case.get("when", []), value):
                return read_all(meaning, case["gives"], value)
    return None
