"""Agent of any dialect, for asyncio and trio."""

import socket as sockets
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from agentese import backends, omp, opal, operator, options, pi, pisces
from agentese._native import AgentTransport
from agentese.aio import AsyncClientBase
from agentese.any.agent import DETECT_WITHIN, Answer, parse_dialect
from agentese.any.aio_commands import AsyncCommands
from agentese.any.aio_run import AsyncEvents, AsyncPendingResult, AsyncRun
from agentese.any.conversion import image_params
from agentese.any.results import Image, Question
from agentese.any.table import CommandMapping, Members, intent_of
from agentese.any.tracker import ConversationTracker, input_params, question_handler
from agentese.errors import TerminatedError, Termination
from agentese.limits import RunLimits
from agentese.members import DEFAULT
from agentese.reactor import Reactor
from agentese.run import ANY
from agentese.tap import Tap
from agentese.view.conversation import Conversation, Json, camel

C = TypeVar("C", bound=AsyncClientBase[Any, Any])

CLIENTS: dict[str, type[AsyncClientBase[Any, Any]]] = {
    module.AsyncClient.dialect: module.AsyncClient for module in (pi, omp, pisces, operator, opal)
}


class AsyncAgent(AsyncCommands):
    """Agent of any dialect, for one event loop of asyncio or trio. Any number of its tasks may use it
    concurrently.

    Use it in an `async with` statement, or await `close`.
    """

    client: AsyncClientBase[Any, Any]
    """Typed client of the dialect, on the same connection, for example a `pi.AsyncClient`. `as_client`
    returns it with its type."""

    def __init__(
        self,
        transport: AgentTransport,
        reactor: Reactor,
        name: str,
        revision: str | None,
        on_question: Any,
        tap: Tap,
        seen: int | None,
        given: options.ClientOptions,
    ) -> None:
        """Not for direct use: call `spawn` or `connect`."""
        kind = CLIENTS[name]
        self._tracker = ConversationTracker(name)
        self._backend = reactor.backend
        self._first_session: backends.Signal | None = None
        dialogs = None if on_question is None else question_handler(self._tracker, dict(kind._dialogs), on_question)
        watched = reactor.token()
        self.client = kind._from_transport(transport, reactor, revision, dialogs, tap, seen, watched, given)
        self._connection = self.client._connection
        reactor.on_token(watched, self._catch_up)
        self._catch_up()

    @classmethod
    async def spawn(
        cls,
        command: Sequence[options.CommandArgument],
        *,
        dialect: str | None = None,
        on_question: Callable[[Question], Answer | Awaitable[Answer]] | None = None,
        detect_within: float = DETECT_WITHIN,
        **given: Unpack[options.SpawnOptions],
    ) -> Self:
        """Starts a program and detects its dialect, on the running loop.

        `dialect`: the dialect, `NAME` or `NAME@REVISION`, if known. `on_question`: answers the agent's questions,
        each in its own task; by default the declared policy dismisses them. `detect_within`: time limit of
        the detection in seconds.

        Raises `SpawnError` if the program cannot be started, `ValueError` if the dialect does not exist, and
        `NotRecognisedError` if the detection fails.
        """
        options.check(given, options.SpawnOptions)
        program = options.program(command, given)

        def start(tap: Tap, reactor: Reactor, seen: int | None) -> AgentTransport:
            return AgentTransport.spawn(program, tap.wants, reactor.mailbox, seen)

        return await cls._open(start, dialect, on_question, detect_within, given)

    @classmethod
    async def connect(
        cls,
        socket: sockets.socket,
        *,
        dialect: str | None = None,
        on_question: Callable[[Question], Answer | Awaitable[Answer]] | None = None,
        detect_within: float = DETECT_WITHIN,
        **given: Unpack[options.ClientOptions],
    ) -> Self:
        """Connects to the agent at the other end of a Unix socket (on Windows: a TCP socket), on the running
        loop. The caller closes the socket."""
        options.check(given, options.ClientOptions)

        def start(tap: Tap, reactor: Reactor, seen: int | None) -> AgentTransport:
            return AgentTransport.connect(socket.fileno(), reactor.mailbox, seen)

        return await cls._open(start, dialect, on_question, detect_within, given)

    @classmethod
    async def _open(cls, start: Any, dialect: str | None, on_question: Any, within: float, given: Any) -> Self:
        name, revision = parse_dialect(dialect)
        tap = Tap(given)
        reactor = Reactor(backends.current())
        try:
            seen = reactor.token() if tap else None
            transport = start(tap, reactor, seen)
            if name is None:
                token = reactor.token()
                found = transport.detect(within, token)
                try:
                    await reactor.wait(token, found)
                except BaseException:
                    found.cancel()
                    raise
                name = found.take(ANY)
            return cls(transport, reactor, name, revision, on_question, tap, seen, given)
        except BaseException:
            reactor.close()
            raise

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
        """Returns `client` if it is of this class, such as `pi.AsyncClient`; `None` if the agent speaks another
        dialect."""
        return self.client if isinstance(self.client, kind) else None

    def supports(self, intent: str) -> bool:
        """Returns `True` if the agent's revision has a command for the intent. While the revision
        is unknown, any revision of the dialect suffices."""
        return self._tracker.mapping(intent, self.client.revision) is not None

    def events(self) -> AsyncEvents:
        """Returns an iterator over all events from now on. At the end of the connection, the iterator raises
        `TerminatedError`."""
        return AsyncEvents(self._backend, self._tracker)

    async def call(self, intent: str, **params: Json) -> dict[str, Json]:
        """Executes an intent with neutral parameters and returns its neutral results; see
        docs/reference/intents.md.

        Raises `NotInDialectError`, and sends nothing, if the agent's revision has no command for the intent,
        or the command lacks a parameter. While the revision is unknown, a command of any revision is used.
        """
        given = {camel(name): value for name, value in params.items()}
        mapping = self._tracker.require_mapping(intent, self.client.revision, given)
        members = await self._members(mapping, given)
        opens = mapping.opens and self._tracker.table.session is not None
        data = await (self._request_opening if opens else self._request)(mapping.command, members)
        return self._tracker.table.results(mapping, members, data)

    async def prompt(
        self,
        text: str,
        *,
        images: Sequence[Image] | None = None,
        when_busy: str | None = None,
        limits: RunLimits | None = None,
    ) -> AsyncRun:
        """Sends user input that starts a run, and waits until the agent has accepted it. `when_busy` is the
        delivery during a run, `steer` or `follow_up`, in dialects with such a parameter. `limits` end the
        run when one of them is reached. Raises `UsageError`, and sends nothing, if agents of the dialect do
        not report the value that a limit needs."""
        mode = None if when_busy is None else intent_of(when_busy)
        return await self._start("prompt", input_params(text, image_params(images), mode), limits)

    async def abort_and_prompt(
        self, text: str, *, images: Sequence[Image] | None = None, limits: RunLimits | None = None
    ) -> AsyncRun:
        """Aborts the current run and starts a new one with this user input. `limits` apply as in `prompt`."""
        return await self._start("abortAndPrompt", input_params(text, image_params(images), None), limits)

    async def close(self) -> Termination:
        """Shuts the agent down and waits for its termination."""
        end = await self.client.close()
        self._catch_up()
        return end

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self.dialect}>"

    def _catch_up(self) -> None:
        """Folds all frames that were sent or received since the last call."""
        end = self._connection.termination
        self._tracker.fold(self._connection.watched())
        if end is not None:
            self._tracker.end(str(end))
            self._tracker.end_listeners(TerminatedError(str(end), termination=end))

    async def _request(self, command: str, members: Members) -> Json:
        try:
            return await self.client.request(command, members)
        finally:
            self._catch_up()

    async def _request_opening(self, command: str, members: Members) -> Json:
        """Sends a command that opens a session. The conversation then follows the session that the response
        names."""
        self._tracker.begin_opening(command)
        try:
            return await self._request(command, members)
        finally:
            self._tracker.end_opening(command)

    async def _members(self, mapping: CommandMapping, given: Members) -> Members:
        """Returns the parameters of a command, with the current session if the command needs one."""
        members = mapping.params(given)
        if mapping.session is None or members.get(mapping.session) is not None:
            return members
        while self._first_session is not None and self._tracker.current_session() is None:
            await self._first_session.wait()
        if self._tracker.current_session() is None:
            self._first_session = self._backend.signal()
            try:
                await self._request_opening(*self._tracker.first_session_command())
            finally:
                signal, self._first_session = self._first_session, None
                signal.set()
        return {**members, mapping.session: self._tracker.current_session() or ""}

    async def _start(self, intent: str, given: Members, limits: RunLimits | None) -> AsyncRun:
        mapping = self._tracker.require_mapping(intent, self.client.revision, given)
        members = await self._members(mapping, given)
        events = self.events()
        try:
            run = self.client._start(mapping.command, members, DEFAULT, limits)
            await run
        except BaseException:
            events.close()
            raise
        finally:
            self._catch_up()
        outcome = self._tracker.table.results(mapping, members, run.answer).get("outcome")
        pending_result = AsyncPendingResult(run, events.listener, lambda: self.conversation, self._catch_up)
        self._backend.start(pending_result.wait, pending_result.finish)
        return AsyncRun(run, events, pending_result, self._backend, outcome)
