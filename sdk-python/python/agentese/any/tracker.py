"""Conversation of one connection, updated with each frame, and the listeners to its changes."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from agentese import _native
from agentese.any.diff import differences
from agentese.any.event import Event
from agentese.any.listener import Listener, size
from agentese.any.results import Question
from agentese.any.table import CommandMapping, IntentTable, Members, intent_of
from agentese.errors import NotInDialectError
from agentese.view import View
from agentese.view.conversation import Conversation, Json


class ConversationTracker:
    """Current conversation with an agent of any dialect, and the commands of that dialect."""

    def __init__(self, dialect: str) -> None:
        self.table = IntentTable(dialect)
        self.dialect = dialect
        self._view = View(dialect)
        self._listeners: list[Listener] = []
        self._opening_commands: list[str] = []
        self._opening_ids: set[str] = set()
        self._end: BaseException | None = None
        self._commands: dict[str, frozenset[str]] = {}

    @property
    def conversation(self) -> Conversation:
        """Current conversation."""
        return self._view.conversation

    def subscribe(self, listener: Listener) -> None:
        """Subscribes a listener to all events from now on."""
        if self._end is None:
            self._listeners.append(listener)
        else:
            listener.end(self._end)

    def unsubscribe(self, listener: Listener) -> None:
        """Unsubscribes a listener."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def fold(self, frames: Iterable[tuple[Any, str]]) -> None:
        """Folds frames in order."""
        for direction, line in frames:
            before = self._view.conversation
            if self._opening_commands and direction == "sent":
                self._record_opening_id(line)
            elif self._opening_ids and direction == "received":
                self._follow_session(line, before)
            show = self._view.sent if direction == "sent" else self._view.received
            self._emit(before, show(line, time.time() * 1000))

    def _emit(self, before: Conversation, now: Conversation) -> None:
        """Emits the differences between two conversations."""
        if self._listeners and (events := differences(before, now)):
            sized = [(event, size(event)) for event in events]
            for listener in self._listeners:
                listener.push(sized)
            self._listeners = [listener for listener in self._listeners if not listener.is_ended]

    def end(self, reason: str) -> None:
        """Marks all work in the conversation as ended. `reason` is the reason for the end of the connection."""
        self._emit(self._view.conversation, self._view.close(reason))

    def end_listeners(self, failure: BaseException) -> None:
        """Ends all listeners with the error of the ended connection."""
        self._end = failure
        for listener in self._listeners:
            listener.end(failure)
        self._listeners = []

    def begin_opening(self, command: str) -> None:
        """Prepares for a command that opens a session; call this before the command is sent. The
        conversation then follows the session that the response names. The first session keeps all
        earlier content."""
        self._opening_commands.append(command)

    def end_opening(self, command: str) -> None:
        """Ends the preparation of `begin_opening`; call this after the command has ended, even if
        its response names no session.
        """
        self._opening_commands.remove(command)
        if not self._opening_commands:
            # No call waits for these responses any more, so they change nothing.
            self._opening_ids.clear()

    def _record_opening_id(self, line: str) -> None:
        """Stores the id of a sent command that opens a session. Ignores other lines."""
        frame = _object(line)
        if frame.get("method" if self.table.is_rpc else "type") in self._opening_commands and "id" in frame:
            self._opening_ids.add(json.dumps(frame["id"]))

    def _follow_session(self, line: str, before: Conversation) -> None:
        """Switches to the session that a response names, if the response belongs to a command that
        opens a session.
        """
        frame = _object(line)
        response_id = json.dumps(frame.get("id"))
        if "method" in frame or response_id not in self._opening_ids:
            return
        self._opening_ids.remove(response_id)
        data = frame.get("result" if self.table.is_rpc else "data")
        session = data.get(self.table.session) if isinstance(data, dict) else None
        if not isinstance(session, str) or before.session.id in (None, session):
            return
        begun = View(self.dialect, session=session).conversation
        internal = replace(begun.internal, sent=before.internal.sent)
        self._view = View.resume(replace(begun, internal=internal))

    def mapping(self, name: str, revision: str | None) -> CommandMapping | None:
        """Returns the command for an intent in the revision; without a revision, in the whole dialect. Returns
        `None` if there is no such command."""
        spoken = revision or self.dialect
        if spoken not in self._commands:
            self._commands[spoken] = frozenset(_native.commands(spoken))
        known = self._commands[spoken]
        return next((mapping for mapping in self.table.mappings(intent_of(name)) if mapping.command in known), None)

    def require_mapping(self, name: str, revision: str | None, given: Members) -> CommandMapping:
        """Returns the command for an intent, as `mapping` does. Raises `NotInDialectError` if there is no
        command, or the command lacks one of the parameters."""
        mapping, intent, spoken = self.mapping(name, revision), intent_of(name), revision or self.dialect
        lacks = f"{spoken} has no command for `{intent}`"
        if mapping is None:
            raise NotInDialectError(lacks, intent=intent, dialect=spoken)
        param = mapping.unsupported_param(intent, revision, given)
        if param is not None:
            raise NotInDialectError(f"{lacks} that takes `{param}`", intent=intent, dialect=spoken, param=param)
        return mapping

    def first_session_command(self) -> tuple[str, Members]:
        """Returns the command that opens the first session, with its parameters."""
        opens = self.table.opens or ""
        mapping = next((mapping for mapping in self.table.mappings("newSession") if mapping.command == opens), None)
        return opens, {} if mapping is None else mapping.params({})

    def current_session(self) -> str | None:
        """Returns the id of the current session. If several sessions are opened at once, the last
        response decides."""
        return self._view.conversation.session.id


def question_handler(tracker: ConversationTracker, rows: dict[str, Any], on_question: Callable[[Question], Any]) -> object:
    """Returns a dialog handler that passes neutral questions to `on_question`. The declared policy
    answers all other dialogs."""

    def method(name: str) -> Callable[[object, Any], Any]:
        def ask(_: object, dialog: Any) -> Any:
            params = tracker.table.question(name, dialog.to_dict()) if name in tracker.table.answers else None
            return None if params is None else on_question(Question.of({**params, "method": name}))

        return ask

    return type("QuestionHandlers", (), {row[0]: method(name) for name, row in rows.items()})()


def _object(line: str) -> Members:
    """Parses a line. Returns an empty dict if the line is not a JSON object."""
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return frame if isinstance(frame, dict) else {}


def input_params(text: str, images: Json, when_busy: str | None) -> Members:
    """Returns the neutral parameters of a prompt."""
    given = {"text": text, "images": images, "whenBusy": when_busy}
    return {name: value for name, value in given.items() if value is not None}
