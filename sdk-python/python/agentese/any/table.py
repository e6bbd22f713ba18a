"""The tables that say which command of a dialect carries what a front end wants. They are generated from the declaration."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from agentese.hints import meant
from agentese.view.conversation import camel
from agentese.view.reading import holds, meaning_of, read_all

Json = Any
Members = dict[str, Json]


@cache
def _read(name: str) -> Members:
    members: Members = json.loads((files("agentese.generated") / "intents" / f"{name}.json").read_text(encoding="utf-8"))
    return members


def intent_of(name: str) -> str:
    """An intent as tables name it. Raises `ValueError` where there is none of that name."""
    intent = camel(name)
    known = [name for name in _read("neutral") if not name.startswith("$")]
    if intent not in known:
        raise ValueError(f"there is no intent `{name}`{meant(intent, known)}")
    return intent


def _hints(intent: str) -> set[str]:
    """The parameters that are left out where a command does not take them."""
    return {param["name"] for param in _read("neutral")[intent]["params"] if param.get("hint")}


class Carrier:
    """The command that carries an intent."""

    def __init__(self, row: Members) -> None:
        self.command: str = row["command"]
        self.session: str | None = row.get("session")
        """The parameter that names the session, where the command needs one."""
        self.opens = "session.id" in row["gives"] and self.session is None
        """Whether it opens a session, where a connection has several."""
        self._sends: Members = row["sends"]
        self._only: dict[str, list[str]] = row.get("only", {})
        self.gives: Members = row["gives"]

    def members(self, given: Members) -> Members:
        """The parameters of the command, made of neutral ones."""
        values = {name: _value(send, given) for name, send in self._sends.items()}
        return {name: value for name, value in values.items() if value is not None}

    def untaken(self, intent: str, revision: str | None, given: Members) -> str | None:
        """The first of the neutral parameters that the command does not take, in a revision, or in one of them where that is
        not known. Those that are left out there do not count."""
        taken = _hints(intent)
        for name, send in self._sends.items():
            if name not in self._only or revision in self._only[name]:
                taken.update([send] if isinstance(send, str) else send.get("join", []))
        return next((name for name, value in given.items() if value is not None and name not in taken), None)


def _value(send: Any, given: Members) -> Json:
    if isinstance(send, str):
        return given.get(send)
    if "is" in send:
        return send["is"]
    parts = [part for name in send["join"] if isinstance(part := given.get(name), str)]
    return send["with"].join(parts) if parts else None


class Table:
    """The table of a dialect, with what its frames mean."""

    def __init__(self, dialect: str) -> None:
        rows = _read(dialect)
        meaning = meaning_of(dialect)
        self._meaning = {**meaning, "readers": {**meaning["readers"], **rows["readers"]}}
        self._carriers = {intent: [Carrier(row) for row in carriers] for intent, carriers in rows["carriers"].items()}
        self.opens: str | None = rows["opens"]
        """The command that opens a session and needs to know nothing, where a connection has several."""
        self.is_rpc: bool = meaning["framing"] == "json-rpc"
        self.session: str | None = meaning.get("session")
        """The member that names the session, where a connection has several."""
        self.answers: dict[str, str] = rows["answers"]
        """The member of the answer to each dialog that is a question."""

    def carriers(self, intent: str) -> list[Carrier]:
        """The commands that carry an intent; an agent has the first one that its revision has."""
        return self._carriers.get(intent, [])

    def results(self, carrier: Carrier, params: Members, data: Json) -> Members:
        """The neutral results in an answer; a name with a dot is a member of an object."""
        answer = {"params": params} if data is None else {"params": params, "data": data}
        results: Members = {}
        for name, value in read_all(self._meaning, carrier.gives, answer).items():
            outer, _, inner = name.partition(".")
            if inner:
                results.setdefault(outer, {})[inner] = value
            else:
                results[outer] = value
        return results

    def question(self, method: str, params: Members) -> Members | None:
        """A dialog in neutral form; none where it is no question."""
        for rule in self._meaning["dialogs"].get(method, []):
            if rule["act"] == "ask" and holds(rule.get("when", []), params):
                return read_all(self._meaning, rule["slots"], params)
        return None
