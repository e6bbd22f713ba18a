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
    """Converts the name of an intent to the form that the tables use. Raises `ValueError` if the intent does
    not exist."""
    intent = camel(name)
    known = [name for name in _read("neutral") if not name.startswith("$")]
    if intent not in known:
        raise ValueError(f"unknown intent `{name}`{suggest(intent, known)}")
    return intent


def _hints(intent: str) -> set[str]:
    """Returns the neutral parameters that are omitted without an error if a command does not have them."""
    return {param["name"] for param in _read("neutral")[intent]["params"] if param.get("hint")}


class CommandMapping:
    """Command of a dialect for an intent."""

    def __init__(self, row: Members) -> None:
        self.command: str = row["command"]
        self.session: str | None = row.get("session")
        """Parameter that takes the id of the session, if the command needs one."""
        self.opens = "session.id" in row["gives"] and self.session is None
        """`True` if the response contains the id of an opened session, in dialects with several sessions per
        connection.
        """
        self._sends: Members = row["sends"]
        self._only: dict[str, list[str]] = row.get("only", {})
        self.gives: Members = row["gives"]

    def params(self, given: Members) -> Members:
        """Converts neutral parameters to the parameters of the command."""
        values = {name: _value(send, given) for name, send in self._sends.items()}
        return {name: value for name, value in values.items() if value is not None}

    def unsupported_param(self, intent: str, revision: str | None, given: Members) -> str | None:
        """Returns the first given neutral parameter that the command does not have in the agent's revision.
        While the revision is unknown, it suffices that any revision has the parameter. Parameters without a
        value are ignored."""
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
        """Command that opens a session without a session id, in dialects with several sessions per connection."""
        self.is_rpc: bool = meaning["framing"] == "json-rpc"
        self.session: str | None = meaning.get("session")
        """Member that contains the id of a session, in dialects with several sessions per connection."""
        self.answers: dict[str, str] = rows["answers"]
        """Dialogs that are questions, each with the member of the answer that contains the value."""

    def mappings(self, intent: str) -> list[CommandMapping]:
        """Returns the possible commands for an intent. The first one that the agent's revision has is used."""
        return self._mappings.get(intent, [])

    def results(self, mapping: CommandMapping, params: Members, data: Json) -> Members:
        """Converts the data of a response to neutral results. A result whose declared name has a dot becomes a
        member of an object."""
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
        """Converts a dialog to a neutral question. Returns `None` if the dialog is not a question."""
        for rule in self._meaning["dialogs"].get(method, []):
            if rule["act"] == "ask" and holds(rule.get("when", []), params):
                return read_all(self._meaning, rule["slots"], params)
        return None
