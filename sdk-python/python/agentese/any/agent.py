"""Agent of any dialect, for threads."""

import socket as sockets
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar, Unpack

from agentese import lifetime, omp, opal, operator, options, pi, pisces
from agentese._native import AgentTransport
from agentese.any.commands import Commands
from agentese.any.conversion import image_params
from agentese.any.results import Image, Question, RunResult
from agentese.any.run import Events, PendingResult, Run, last_assistant_message
from agentese.any.table import CommandMapping, Members, intent_of
from agentese.any.tracker import ConversationTracker, input_params, question_handler
from agentese.client import SyncClient
from agentese.errors import TerminatedError, Termination
from agentese.limits import RunLimits
from agentese.members import DEFAULT
from agentese.run import ANY, SyncRun
from agentese.tap import Tap
from agentese.view.conversation import Conversation, Json, camel

C = TypeVar("C", bound=SyncClient[Any, Any])

CLIENTS: dict[str, type[SyncClient[Any, Any]]] = {
    module.Client.dialect: module.Client for module in (pi, omp, pisces, operator, opal)
}

DETECT_WITHIN = 20.0
"""Default time limit of the detection of the dialect in seconds."""

Answer: TypeAlias = str | bool | None
"""Answer to a question: the chosen or entered text, or yes or no; `None` dismisses the question."""


def parse_dialect(dialect: str | None) -> tuple[str | None, str | None]:
    """Splits `NAME@REVISION` into dialect and revision. Raises `ValueError` if the dialect does not exist."""
    name, _, revision = (dialect or "").partition("@")
    if name and name not in CLIENTS:
        raise ValueError(f'unknown dialect "{name}"; known: {", ".join(CLIENTS)}')
    return name or None, revision or None


class Agent(Commands):
    """Agent of any dialect. Any number of threads may use it concurrently.

    Use it in a `with` statement, or call `close`.
    """

    client: SyncClient[Any, Any]
    """Typed client of the dialect, on the same connection, for example a `pi.Client`. `as_client` returns it
    with its type."""

    def __init__(
        self,
        transport: AgentTransport,
        name: str,
        revision: str | None,
        on_question: Any,
        tap: Tap,
        given: options.ClientOptions,
    ) -> None:
        """Not for direct use: call `spawn` or `connect`."""
        kind = CLIENTS[name]
        self._tracker = ConversationTracker(name)
        self._lock = threading.Condition(threading.RLock())
        self._opening_lock = threading.Lock()
        dialogs = None if on_question is None else question_handler(self._tracker, dict(kind._dialogs), on_question)
        self.client = kind._from_transport(transport, revision, dialogs, tap, given)
        self._connection = self.client._connection
        self._fold_thread = threading.Thread(target=self._listen, daemon=True)
        lifetime.start("agentese-any", self._fold_thread)

    @classmethod
    def spawn(
        cls,
        command: Sequence[options.CommandArgument],
        *,
        dialect: str | None = None,
        on_question: Callable[[Question], Answer] | None = None,
        detect_within: float = DETECT_WITHIN,
        **given: Unpack[options.SpawnOptions],
    ) -> Self:
        """Starts a program and detects its dialect.

        `dialect`: the dialect, `NAME` or `NAME@REVISION`, if known. `on_question`: answers the agent's questions,
        each on its own thread; by default the declared policy dismisses them. `detect_within`: time limit of
        the detection in seconds.

        Raises `SpawnError` if the program cannot be started, `ValueError` if the dialect does not exist, and
        `NotRecognisedError` if the detection fails.
        """
        options.check(given, options.SpawnOptions)
        tap = Tap(given)
        parse_dialect(dialect)
        transport = AgentTransport.spawn(options.program(command, given), tap.wants, None, 0 if tap else None)
        return cls._open(transport, dialect, on_question, detect_within, tap, given)

    @classmethod
    def connect(
        cls,
        socket: sockets.socket,
        *,
        dialect: str | None = None,
        on_question: Callable[[Question], Answer] | None = None,
        detect_within: float = DETECT_WITHIN,
        **given: Unpack[options.ClientOptions],
    ) -> Self:
        """Connects to the agent at the other end of a Unix socket (on Windows: a TCP socket). The caller
        closes the socket."""
        options.check(given, options.ClientOptions)
        tap = Tap(given)
        parse_dialect(dialect)
        transport = AgentTransport.connect(socket.fileno(), None, 0 if tap else None)
        return cls._open(transport, dialect, on_question, detect_within, tap, given)

    @classmethod
    def _open(
        cls, transport: AgentTransport, dialect: str | None, on_question: Any, within: float, tap: Tap, given: Any
    ) -> Self:
        name, revision = parse_dialect(dialect)
        if name is None:
            found = transport.detect(within)
            found.wait()
            name = found.take(ANY)
        return cls(transport, name, revision, on_question, tap, given)

    @property
    def dialect(self) -> str:
        """Name of the dialect."""
        return self._tracker.dialect

    @property
    def conversation(self) -> Conversation:
        """Current conversation."""
        return self._tracker.conversation

    @property
    def termination(self) -> Termination | None:
        """Termination of the connection; `None` while it is open."""
        return self.client.termination

    def as_client(self, kind: type[C]) -> C | None:
        """Returns `client` if it is of this class, such as `pi.Client`; `None` if the agent speaks another
        dialect."""
        return self.client if isinstance(self.client, kind) else None

    def supports(self, intent: str) -> bool:
        """Returns `True` if the agent's revision has a command for the intent. While the revision
        is unknown, any revision of the dialect suffices."""
        return self._tracker.mapping(intent, self.client.revision) is not None

    def events(self) -> Events:
        """Returns an iterator over all events from now on. At the end of the connection, the iterator raises
        `TerminatedError`."""
        return Events(self._lock, self._tracker)

    def call(self, intent: str, **params: Json) -> dict[str, Json]:
        """Executes an intent with neutral parameters and returns its neutral results; see
        docs/reference/intents.md.

        Raises `NotInDialectError`, and sends nothing, if the agent's revision has no command for the intent,
        or the command lacks a parameter. While the revision is unknown, a command of any revision is used.
        """
        given = {camel(name): value for name, value in params.items()}
        mapping = self._tracker.require_mapping(intent, self.client.revision, given)
        members = self._members(mapping, given)
        opens = mapping.opens and self._tracker.table.session is not None
        data = (self._request_opening if opens else self._request)(mapping.command, members)
        return self._tracker.table.results(mapping, members, data)

    def prompt(
        self,
        text: str,
        *,
        images: Sequence[Image] | None = None,
        when_busy: str | None = None,
        limits: RunLimits | None = None,
    ) -> Run:
        """Sends user input that starts a run, and waits until the agent has accepted it. `when_busy` is the
        delivery during a run, `steer` or `follow_up`, in dialects with such a parameter. `limits` end the
        run when one of them is reached. Raises `UsageError`, and sends nothing, if agents of the dialect do
        not report the value that a limit needs."""
        mode = None if when_busy is None else intent_of(when_busy)
        return self._start("prompt", input_params(text, image_params(images), mode), limits)

    def abort_and_prompt(
        self, text: str, *, images: Sequence[Image] | None = None, limits: RunLimits | None = None
    ) -> Run:
        """Aborts the current run and starts a new one with this user input. `limits` apply as in `prompt`."""
        return self._start("abortAndPrompt", input_params(text, image_params(images), None), limits)

    def close(self) -> Termination:
        """Shuts the agent down and waits for its termination."""
        end = self.client.close()
        if self._fold_thread is not threading.current_thread():
            self._fold_thread.join()
        return end

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self.dialect}>"

    def _listen(self) -> None:
        failure: BaseException | None = None
        try:
            while self._connection.wait_watched():
                self._catch_up()
        except BaseException as error:
            failure = error
            raise
        finally:
            with self._lock:
                end = self._connection.termination
                self._tracker.end_listeners(failure or TerminatedError(str(end), termination=end))

    def _catch_up(self) -> None:
        """Folds all frames that were sent or received since the last call."""
        with self._lock:
            end = self._connection.termination
            self._tracker.fold(self._connection.watched())
            if end is not None:
                self._tracker.end(str(end))

    def _request(self, command: str, members: Members) -> Json:
        try:
            return self.client.request(command, members)
        finally:
            self._catch_up()

    def _request_opening(self, command: str, members: Members) -> Json:
        """Sends a command that opens a session. The conversation then follows the session that the response
        names."""
        with self._lock:
            self._tracker.begin_opening(command)
        try:
            return self._request(command, members)
        finally:
            with self._lock:
                self._tracker.end_opening(command)

    def _members(self, mapping: CommandMapping, given: Members) -> Members:
        """Returns the parameters of a command, with the current session if the command needs one."""
        members = mapping.params(given)
        if mapping.session is None or members.get(mapping.session) is not None:
            return members
        # If a session is already current, the opening of the first session is not awaited.
        if self._tracker.current_session() is None:
            with self._opening_lock:
                if self._tracker.current_session() is None:
                    self._request_opening(*self._tracker.first_session_command())
        return {**members, mapping.session: self._tracker.current_session() or ""}

    def _start(self, intent: str, given: Members, limits: RunLimits | None) -> Run:
        mapping = self._tracker.require_mapping(intent, self.client.revision, given)
        members = self._members(mapping, given)
        events = self.events()
        try:
            run = self.client._start(mapping.command, members, DEFAULT, limits)
        except BaseException:
            events.close()
            raise
        finally:
            self._catch_up()
        outcome = self._tracker.table.results(mapping, members, run.answer).get("outcome")
        pending_result = PendingResult(events.listener, self._lock)
        lifetime.start("agentese-run", threading.Thread(target=self._await_end, args=(run, pending_result), daemon=True))
        return Run(run, events, pending_result, outcome)

    def _await_end(self, run: SyncRun[Any, Any], pending_result: PendingResult) -> None:
        """Waits for the end of a run. This method has no reference to the caller's `Run`, so that the caller
        can drop it.
        """
        try:
            ended = run.wait()
            self._catch_up()
            pending_result.set_result(RunResult.of(ended, last_assistant_message(self.conversation)))
        except BaseException as error:
            try:
                self._catch_up()
            finally:
                pending_result.set_result(error)
