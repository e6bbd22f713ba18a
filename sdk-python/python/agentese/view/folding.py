"""Fold of the frames of both directions into a conversation."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from agentese.view import history, messages, panels, running
from agentese.view.conversation import Conversation, Json, SentCommand
from agentese.view.reading import MeaningTable, at, holds, meaning_of, read_all
from agentese.view.reducer_context import ReducerContext, id_text

Reducer = Callable[[Conversation, dict[str, Json], ReducerContext], Conversation]

REDUCERS: dict[str, Reducer] = {
    **{act.__name__: act for act in (running.work, running.outcome, running.abort, running.compacting, running.compacted)},
    **{act.__name__: act for act in (running.retry, running.retried, running.shell)},
    "shellOutput": running.shell_output,
    "shellDone": running.shell_done,
    **{act.__name__: act for act in (messages.begin, messages.snapshot, messages.piece, messages.block)},
    **{act.__name__: act for act in (messages.message, messages.end, messages.tool, messages.arrive)},
    **{act.__name__: act for act in (history.history, history.count)},
    "replace": history.replace_all,
    "set": panels.set_members,
    **{act.__name__: act for act in (panels.keep, panels.usage, panels.wait, panels.waited, panels.queue)},
    **{act.__name__: act for act in (panels.ask, panels.withdraw, panels.notice, panels.entry, panels.draft)},
    **{act.__name__: act for act in (panels.task, panels.child)},
}
"""Reducers by the names that the tables use."""


def fold(
    conversation: Conversation,
    direction: Literal["sent", "received"],
    frame: str | bytes | dict[str, Json],
    at: float | None = None,
) -> Conversation:
    """Returns the conversation after a frame, given as a line or an object. `at` is the time of arrival in
    milliseconds since the epoch.

    Returns the same conversation if the frame is unreadable or has no effect.
    """
    if not isinstance(frame, dict):
        try:
            frame = json.loads(frame)
        except (ValueError, RecursionError):
            return conversation
    conversation = panels.remove_expired(conversation, at)
    if not isinstance(frame, dict):
        return conversation
    folding = _FrameFold(meaning_of(conversation.dialect), at)
    try:
        return folding.sent(conversation, frame) if direction == "sent" else folding.received(conversation, frame)
    except RecursionError:
        # The nesting exceeds the recursion limit.
        return conversation


class _FrameFold:
    """Folds one frame into a conversation."""

    def __init__(self, meaning: MeaningTable, at: float | None) -> None:
        self._meaning = meaning
        self._at = at
        self._is_rpc = meaning["framing"] == "json-rpc"

    def sent(self, conversation: Conversation, frame: dict[str, Json]) -> Conversation:
        name, id = frame.get("method" if self._is_rpc else "type"), frame.get("id")
        answer = self._meaning.get("dialogFrames", {}).get("answer")
        if name is None if self._is_rpc else name == answer:
            return panels.remove_question(conversation, id)
        if not isinstance(name, str):
            return conversation
        params = _object(frame.get("params")) if self._is_rpc else frame
        if not self._is_ours(conversation, params):
            return conversation
        plain = {key: value for key, value in params.items() if isinstance(value, str | int | float)}
        sent = {**conversation.internal.sent, _command_key(frame, name): SentCommand(command=name, params=plain)}
        remembered = replace(conversation, internal=replace(conversation.internal, sent=sent))
        return self._apply(remembered, "sent", name, id, params)

    def received(self, conversation: Conversation, frame: dict[str, Json]) -> Conversation:
        return self._rpc(conversation, frame) if self._is_rpc else self._flat(conversation, frame)

    def _flat(self, conversation: Conversation, frame: dict[str, Json]) -> Conversation:
        kind = frame.get("type")
        if kind == "response":
            error = None if frame.get("success") is True else _error_text(frame.get("error"))
            return self._answer(conversation, frame, frame.get("command"), "data", error)
        if kind == self._meaning.get("dialogFrames", {}).get("request"):
            return self._apply(conversation, "dialogs", frame.get("method"), frame.get("id"), frame)
        is_wrapped = kind == "event" and self._meaning["framing"] == "enveloped"
        return self.event(conversation, _object(frame.get("event")) if is_wrapped else frame)

    def _rpc(self, conversation: Conversation, frame: dict[str, Json]) -> Conversation:
        method, id = frame.get("method"), frame.get("id")
        if method is None:
            error = _error_text(_object(frame["error"]).get("message")) if "error" in frame else None
            return self._answer(conversation, frame, None, "result", error)
        params = _object(frame.get("params"))
        if not self._is_ours(conversation, params):
            return conversation
        if id is not None:
            return self._apply(conversation, "dialogs", method, id, params)
        return self.event(conversation, params) if method == self._meaning.get("notification") else conversation

    def event(self, conversation: Conversation, body: dict[str, Json]) -> Conversation:
        """Applies an event, given without its envelope."""
        return self._apply(conversation, "events", body.get("type"), None, body)

    def _answer(
        self, conversation: Conversation, frame: dict[str, Json], named: Any, member: str, error: str | None
    ) -> Conversation:
        """Applies the response to a command. `error` is the text of the rejection, if the agent rejected the
        command."""
        key = _command_key(frame, str(named))
        known = conversation.internal.sent.get(key)
        command = named if known is None else known.command
        if known is not None:
            left = {place: sent for place, sent in conversation.internal.sent.items() if place != key}
            conversation = replace(conversation, internal=replace(conversation.internal, sent=left))
        value: dict[str, Json] = {"params": {} if known is None else known.params}
        if error is None:
            if not self._is_ours(conversation, _object(frame.get(member))):
                return conversation
            value["data"] = frame.get(member)
            return self._apply(conversation, "answers", command, frame.get("id"), value)
        source = command if isinstance(command, str) else None
        notified = panels.notify(conversation, "error", error, source, self._at)
        return self._apply(notified, "refused", command, frame.get("id"), {**value, "error": error})

    def _is_ours(self, conversation: Conversation, params: dict[str, Json]) -> bool:
        """Returns `True` unless the frame names another session than that of the conversation."""
        named = params.get(self._meaning.get("session", ""))
        return not isinstance(named, str) or conversation.session.id in (None, named)

    def _apply(self, conversation: Conversation, kind: str, name: Json, id: Json, value: dict[str, Json]) -> Conversation:
        rules = self._meaning[kind].get(name, []) if isinstance(name, str) else []
        for rule in rules:
            context = ReducerContext(str(name), id, self._at, tuple(rule["slots"]), self._child)
            items = [value] if "over" not in rule else at(value, rule["over"])
            for item in items if isinstance(items, list) else []:
                if holds(rule.get("when", []), item):
                    conversation = REDUCERS[rule["act"]](conversation, read_all(self._meaning, rule["slots"], item), context)
        return conversation

    def _child(self, conversation: Conversation | None, event: dict[str, Json]) -> Conversation:
        return self.event(conversation or Conversation(dialect=self._meaning["dialect"]), event)


def _command_key(frame: dict[str, Json], command: str) -> str:
    """Returns the key of a command in the table of sent commands."""
    return f"without {command}" if frame.get("id") is None else id_text(frame["id"])


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _error_text(error: Json) -> str:
    return error if isinstance(error, str) else "" if error is None else json.dumps(error, ensure_ascii=False, separators=(",", ":"))
