"""Generated tables that map intents to commands of a dialect."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from agentese.hints import suggest
from agentese.view.conversation import camel
from agentese.view.reading import holds, meaning_of, read_all

Json = Any
Members = dict[str, Json]


@cache
def _read(name: str) -> Members:
    members: Members = json.loads((files("agentese.generated") / "intents" / f"{name}.json").read_text(encoding="utf-8"))
    return members


def intent_of(name: str) -> str:
    """Returns the name of an intent in the tables. Raises `ValueError` if the intent does not exist."""
    intent = camel(name)
    known = [name for name in _read("neutral") if not name.startswith("$")]
    if intent not in known:
        raise ValueError(f"unknown intent `{name}`{suggest(intent, known)}")
    return intent


def _hints(intent: str) -> set[str]:
    """Returns the parameters that may be omitted for commands without them."""
    return {param["name"] for param in _read("neutral")[intent]["params"] if param.get("hint")}


class CommandMapping:
    """Command for an intent."""

    def __init__(self, row: Members) -> None:
        self.command: str = row["command"]
        self.session: str | None = row.get("session")
        """Parameter that names the session, if the command needs one."""
        self.opens = "session.id" in row["gives"] and self.session is None
        """`True` if the command opens a session, in dialects with several sessions per connection."""
        self._sends: Members = row["sends"]
        self._only: dict[str, list[str]] = row.get("only", {})
        self.gives: Members = row["gives"]

    def params(self, given: Members) -> Members:
        """Builds the parameters of the command from neutral ones."""
        values = {name: _value(send, given) for name, send in self._sends.items()}
        return {name: value for name, value in values.items() if value is not None}

    def unsupported_param(self, intent: str, revision: str | None, given: Members) -> str | None:
        """Returns the first neutral parameter that the command does not take in the revision. While the
        revision is unknown, any revision is sufficient. Omitted parameters are skipped."""
        supported = _hints(intent)
        for name, send in self._sends.items():
            if name not in self._only or revision in self._only[name]:
                supported.update([send] if isinstance(send, str) else send.get("join", []))
        return next((name for name, value in given.items() if value is not None and name not in supported), None)


def _value(send: Any, given: Members) -> Json:
    if isinstance(send, str):
        return given.get(send)
    if "is" in send:
        return send["is"]
    parts = [part for name in send["join"] if isinstance(part := given.get(name), str)]
    return send["with"].join(parts) if parts else None


class IntentTable:
    """Tables of a dialect: its commands by intent and the meaning of its frames."""

    def __init__(self, dialect: str) -> None:
        rows = _read(dialect)
        meaning = meaning_of(dialect)
        self._meaning = {**meaning, "readers": {**meaning["readers"], **rows["readers"]}}
        self._mappings = {intent: [CommandMapping(row) for row in mappings] for intent, mappings in rows["carriers"].items()}
        self.opens: str | None = rows["opens"]
        """Command that opens a session without further knowledge, in dialects with several sessions per
        connection."""
        self.is_rpc: bool = meaning["framing"] == "json-rpc"
        self.session: str | None = meaning.get("session")
        """Member that names the session, in dialects with several sessions per connection."""
        self.answers: dict[str, str] = rows["answers"]
        """Member of the answer to each dialog that is a question."""

    def mappings(self, intent: str) -> list[CommandMapping]:
        """Returns the commands for an intent; an agent has the first one that its revision has."""
        return self._mappings.get(intent, [])

    def results(self, mapping: CommandMapping, params: Members, data: Json) -> Members:
        """Returns the neutral results in a response. A name with a dot denotes a member of an object."""
        answer = {"params": params} if data is None else {"params": params, "data": data}
        results: Members = {}
        for name, value in read_all(self._meaning, mapping.gives, answer).items():
            outer, _, inner = name.partition(".")
            if inner:
                results.setdefault(outer, {})[inner] = value
            else:
                results[outer] = value
        return results

    def question(self, method: str, params: Members) -> Members | None:
        """Returns a dialog in neutral form; `None` if it is not a question."""
        for rule in self._meaning["dialogs"].get(method, []):
            if rule["act"] == "ask" and holds(rule.get("when", []), params):
                return read_all(self._meaning, rule["slots"], params)
        return None
