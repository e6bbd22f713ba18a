"""Agent of any dialect, for threads."""

import socket as sockets
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar, Unpack

from agentese import lifetime, omp, opal, operator, options, pi, pisces
from agentese._native import Opening
from agentese.any.commands import Commands
from agentese.any.following import Following, handler, words
from agentese.any.results import Image, Question, RunResult
from agentese.any.run import Ending, Events, Run, last_said
from agentese.any.table import Carrier, Members, intent_of
from agentese.any.words import pictures
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

WITHIN = 20.0
"""Default time limit of the detection of the dialect in seconds."""

Answer: TypeAlias = str | bool | None
"""Answer to a question: the chosen or entered text, or yes or no; `None` dismisses the question."""


def named(dialect: str | None) -> tuple[str | None, str | None]:
    """Returns the requested dialect and revision. Raises `ValueError` if the dialect does not exist."""
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
        self, opening: Opening, name: str, revision: str | None, asked: Any, tap: Tap, given: options.ClientOptions
    ) -> None:
        """Use `spawn` or `connect`."""
        kind = CLIENTS[name]
        self._following = Following(name)
        self._lock = threading.Condition(threading.RLock())
        self._opens = threading.Lock()
        dialogs = None if asked is None else handler(self._following, dict(kind._dialogs), asked)
        self.client = kind._over(opening, revision, dialogs, tap, given)
        self._connection = self.client._connection
        self._pump = threading.Thread(target=self._listen, daemon=True)
        lifetime.start("agentese-any", self._pump)

    @classmethod
    def spawn(
        cls,
        command: Sequence[options.Word],
        *,
        dialect: str | None = None,
        asked: Callable[[Question], Answer] | None = None,
        detect_within: float = WITHIN,
        **given: Unpack[options.SpawnOptions],
    ) -> Self:
        """Starts a program and detects its dialect.

        `dialect`: the dialect, `NAME` or `NAME@REVISION`, if known. `asked`: answers the agent's questions,
        each on its own thread; by default the declared policy dismisses them. `detect_within`: time limit of
        the detection in seconds.

        Raises `SpawnError` if the program cannot be started, `ValueError` if the dialect does not exist, and
        `NotRecognisedError` if the detection fails.
        """
        options.check(given, options.SpawnOptions)
        tap = Tap(given)
        named(dialect)
        opening = Opening.spawn(options.program(command, given), tap.wants, None, 0 if tap else None)
        return cls._open(opening, dialect, asked, detect_within, tap, given)

    @classmethod
    def connect(
        cls,
        socket: sockets.socket,
        *,
        dialect: str | None = None,
        asked: Callable[[Question], Answer] | None = None,
        detect_within: float = WITHIN,
        **given: Unpack[options.ClientOptions],
    ) -> Self:
        """Connects to the agent at the other end of a Unix socket (on Windows: a TCP socket). The caller
        closes the socket."""
        options.check(given, options.ClientOptions)
        tap = Tap(given)
        named(dialect)
        opening = Opening.connect(socket.fileno(), None, 0 if tap else None)
        return cls._open(opening, dialect, asked, detect_within, tap, given)

    @classmethod
    def _open(cls, opening: Opening, dialect: str | None, asked: Any, within: float, tap: Tap, given: Any) -> Self:
        name, revision = named(dialect)
        if name is None:
            found = opening.detect(within)
            found.wait()
            name = found.take(ANY)
        return cls(opening, name, revision, asked, tap, given)

    @property
    def dialect(self) -> str:
        """Name of the dialect."""
        return self._following.dialect

    @property
    def conversation(self) -> Conversation:
        """Current conversation."""
        return self._following.conversation

    @property
    def termination(self) -> Termination | None:
        """Termination of the connection; `None` while it is open."""
        return self.client.termination

    def as_client(self, kind: type[C]) -> C | None:
        """Returns the client as one of a dialect, such as `pi.Client`; `None` if the agent speaks another
        dialect."""
        return self.client if isinstance(self.client, kind) else None

    def can(self, intent: str) -> bool:
        """Returns `True` if the dialect has a command for the intent: in the agent's revision, or in any
        revision while that is unknown."""
        return self._following.carrier(intent, self.client.revision) is not None

    def events(self) -> Events:
        """Returns an iterator over all events from now on. The iterator raises the termination of the
        connection."""
        return Events(self._lock, self._following)

    def call(self, intent: str, **params: Json) -> dict[str, Json]:
        """Executes an intent with neutral parameters and returns its neutral results; see
        docs/reference/intents.md.

        Raises `NotInDialectError` if the agent's revision has no command for the intent, or the command lacks
        a parameter. While the revision is unknown, all revisions are searched. Nothing was sent.
        """
        given = {camel(name): value for name, value in params.items()}
        carrier = self._following.need(intent, self.client.revision, given)
        members = self._members(carrier, given)
        opens = carrier.opens and self._following.table.session is not None
        data = (self._ask_opening if opens else self._ask)(carrier.command, members)
        return self._following.table.results(carrier, members, data)

    def prompt(
        self,
        text: str,
        *,
        images: Sequence[Image] | None = None,
        when_busy: str | None = None,
        limits: RunLimits | None = None,
    ) -> Run:
        """Sends user input that starts a run, and waits until the agent has accepted it. `when_busy`:
        delivery during a run, `steer` or `follow_up`, in dialects with such a parameter. `limits`: limits that
        end the run; raises `UsageError`, and sends nothing, for a limit of something that agents of the
        dialect do not report."""
        mode = None if when_busy is None else intent_of(when_busy)
        return self._start("prompt", words(text, pictures(images), mode), limits)

    def abort_and_prompt(
        self, text: str, *, images: Sequence[Image] | None = None, limits: RunLimits | None = None
    ) -> Run:
        """Aborts the current run and starts a new one with this user input. `limits`: as of `prompt`."""
        return self._start("abortAndPrompt", words(text, pictures(images), None), limits)

    def close(self) -> Termination:
        """Shuts the agent down and waits for its termination."""
        end = self.client.close()
        if self._pump is not threading.current_thread():
            self._pump.join()
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
                self._following.over(failure or TerminatedError(str(end), termination=end))

    def _catch_up(self) -> None:
        """Folds all received and sent frames."""
        with self._lock:
            end = self._connection.termination
            self._following.take(self._connection.watched())
            if end is not None:
                self._following.end(str(end))

    def _ask(self, command: str, members: Members) -> Json:
        try:
            return self.client.request(command, members)
        finally:
            self._catch_up()

    def _ask_opening(self, command: str, members: Members) -> Json:
        """Sends a command that opens a session. The conversation then follows the session in its response."""
        with self._lock:
            self._following.switch(command)
        try:
            return self._ask(command, members)
        finally:
            with self._lock:
                self._following.stay(command)

    def _members(self, carrier: Carrier, given: Members) -> Members:
        """Returns the parameters of a command, with the current session if the command needs one."""
        members = carrier.members(given)
        if carrier.session is None or members.get(carrier.session) is not None:
            return members
        # Once a session is followed, a first session that is still being opened is not awaited.
        if self._following.followed() is None:
            with self._opens:
                if self._following.followed() is None:
                    self._ask_opening(*self._following.first())
        return {**members, carrier.session: self._following.followed() or ""}

    def _start(self, intent: str, given: Members, limits: RunLimits | None) -> Run:
        carrier = self._following.need(intent, self.client.revision, given)
        members = self._members(carrier, given)
        events = self.events()
        try:
            run = self.client._start(carrier.command, members, DEFAULT, limits)
        except BaseException:
            events.close()
            raise
        finally:
            self._catch_up()
        outcome = self._following.table.results(carrier, members, run.answer).get("outcome")
        ending = Ending(events.listener, self._lock)
        lifetime.start("agentese-run", threading.Thread(target=self._see_off, args=(run, ending), daemon=True))
        return Run(run, events, ending, outcome)

    def _see_off(self, run: SyncRun[Any, Any], ending: Ending) -> None:
        """Waits for the end of a run. Holds no reference to the caller's run, so that the caller can drop it.
        """
        try:
            ended = run.wait()
            self._catch_up()
            ending.came(RunResult.of(ended, last_said(self.conversation)))
        except BaseException as error:
            try:
                self._catch_up()
            finally:
                ending.came(error)
