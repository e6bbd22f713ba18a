"""Output of a walk through all commands: one JSON line per command, and one at the end."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from agentese import Record
from agentese.unknown import UnknownVariant


def decode(value: Any) -> list[str]:
    """Reads every declared member recursively, and returns the undeclared tags."""
    if isinstance(value, UnknownVariant):
        return [str(value.tag)]
    if isinstance(value, Record):
        members = getattr(type(value), "__match_args__", ())
        return [tag for name in members for tag in decode(getattr(value, name))]
    if isinstance(value, dict):
        value = list(value.values())
    return [tag for each in value for tag in decode(each)] if isinstance(value, list) else []


class Report:
    """Compares received values with the declaration, and collects statistics."""

    def __init__(self) -> None:
        self._events: Counter[str] = Counter()
        self._unknown: list[str] = []
        self._misfits: list[str] = []

    def step(self, command: str, call: Callable[[], Any], show: Callable[[Any], str]) -> None:
        """Runs the step for one command: `call` sends it, and `show` describes the response. A failure is
        reported, and the walk continues."""
        try:
            answer = call()
            self._unknown += [f"{command} {tag}" for tag in decode(answer)]
            tell({"command": command, "ok": True, "got": show(answer)})
        except Exception as error:
            tell({"command": command, "ok": False, "got": repr(error)})

    def event(self, event: Record) -> None:
        if isinstance(event, UnknownVariant):
            self._unknown.append(f"event {event.tag}")
            return
        self._events[event.type] += 1
        try:
            self._unknown += [f"{event.type} {tag}" for tag in decode(event)]
        except Exception as error:
            self._misfits.append(f"{event.type}: {error}")

    def end(self, diagnostics: list[tuple[str, str]]) -> None:
        odd = [f"{kind}: {text}" for kind, text in diagnostics if kind != "unknown_frame"]
        tell({"events": self._events, "unknown": self._unknown, "misfits": self._misfits + odd})


def tell(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)
