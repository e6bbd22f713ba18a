"""Text of `repr` for a record: its members, with long values shortened."""

import reprlib
from typing import Any

from agentese._native import Record

SEARCHED = 1 << 16
"""Maximum length, in characters, of a record whose undeclared members are displayed."""


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother, self.maxlist, self.maxdict = 4, 80, 80, 4, 8

    def repr_instance(self, x: Any, level: int) -> str:
        return self.of_record(x, level) if isinstance(x, Record) else super().repr_instance(x, level)

    def of_record(self, record: Record, level: int) -> str:
        kind = type(record)
        if level <= 0:
            return f"{kind.__name__}(...)"
        try:
            shown, declared = [], {*getattr(kind, "_constants", ())}
            for name in getattr(kind, "__match_args__", ()):
                declared.add(getattr(kind, name).name)
                value = getattr(record, name)
                if value is not None:
                    shown.append(f"{name}={self.repr1(value, level - 1)}")
            if len(record.raw) <= SEARCHED:
                more = {name: value for name, value in record.to_dict().items() if name not in declared}
                if more:
                    shown.append(f"**{self.repr1(more, level - 1)}")
        except ValueError:
            # The record does not fit its declaration, so its JSON text is displayed.
            shown = [self.repr1(record.raw, level - 1)]
        return f"{kind.__name__}({', '.join(shown)})"


_SHORT = _Short()


def record_repr(record: Record) -> str:
    """Returns the text for `repr`."""
    return _SHORT.of_record(record, _SHORT.maxlevel)
