"""Client for asyncio and trio, with the methods of the client for threads."""

import inspect
import socket as sockets
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, Unpack

from agentese import backends, options
from agentese import dialogs as dialoging
from agentese import lifetime as lifetime
from agentese._native import AgentTransport, AsyncBatch, Connection, Decoder, EventTable, Operation, Question, Stream
from agentese.errors import Termination, UsageError
from agentese.limits import RunLimits, to_native
from agentese.members import DEFAULT, Timeout, checked, encode_members, limit
from agentese.reactor import Reactor
from agentese.run import ANY, RunResult, complete, outcome, run_timeout, succeeded
from agentese.tap import Tap
from agentese.text import LastText, TextTable
from agentese.values import JsonValue

E = TypeVar("E")
C = TypeVar("C")
D = TypeVar("D")


class AsyncEvents(AsyncBatch, Generic[E]):
    """Events as an asynchronous iterator. A loop that ends early leaves the remaining events to the next
    loop."""

    __slots__ = ("_reactor", "_stream", "_token")

    def __init__(self, reactor: Reactor, stream: Stream, token: int) -> None:
        self._reactor = reactor
        self._stream = stream
        self._token = token
        self._read(stream)

    if TYPE_CHECKING:

        def __anext__(self) -> Coroutine[Any, Any, E]:
            """Returns the next event."""
            raise NotImplementedError

    async def _next(self) -> E:
        while await self._more():
            # Another task may have consumed them in the meantime.
            for event in self._stream.take(1):
                first: E = event
                return first
        raise StopAsyncIteration

    async def _more(self) -> bool:
        """Waits until events are available in the stream, without taking them. Returns `False` at
        the end. Raises the error of the stream once."""
        while (found := self._stream.fill()) is None:
            await self._reactor.wait(self._token)
        if found:
            # A stream that always has events must not block the event loop.
            await self._reactor.backend.yield_()
        return found

    async def batches(self) -> AsyncIterator[list[E]]:
        """Returns the available events in lists, for programs that process many events at once."""
        while (batch := self._stream.take()) or await self._more():
            if batch:
                yield batch

    async def _end(self) -> None:
        while not self._stream.skip():
            await self._reactor.wait(self._token)


class AsyncRunBase(AsyncEvents[E], Generic[E, C]):
    """Run of a prompt: iterate over its events with `async for`.

    The client sends the prompt when it creates the run. `await` the run to wait until the agent has accepted the
    prompt; a rejection is raised there, or at the end of the events. The run ends when the agent is done, including
    retries, automatic compactions and reminders. Dropping the run only unsubscribes: the agent continues to work
    (use `abort` to stop it).
    """

    __slots__ = ("_accepted", "_answer", "_answer_token", "answer", "client", "command", "session")

    client: C
    """Client that started the run."""
    command: str
    """Wire name of the command that started the run."""
    session: str
    """Session of the run, in dialects with several; otherwise empty."""
    answer: JsonValue
    """Data of the response that accepted the run, if any; set after `await`."""
    _text: ClassVar[TextTable]

    def __init__(
        self,
        client: C,
        command: str,
        session: str,
        reactor: Reactor,
        stream: tuple[Stream, int],
        answer: tuple[Operation, int],
    ) -> None:
        """Not for direct use: call a method of the client that starts a run, such as `prompt`."""
        super().__init__(reactor, *stream)
        self.client = client
        self.command = command
        self.session = session
        self.answer = None
        self._answer, self._answer_token = answer
        # `True` after the acceptance; the error after a rejection; `False` before.
        self._accepted: bool | BaseException = False

    async def _accept(self) -> Self:
        await self._reactor.wait(self._answer_token, self._answer)
        if self._accepted is False:
            try:
                self.answer = self._answer.take(ANY)
                self._accepted = True
            except Exception as error:
                self._accepted = error
        if isinstance(self._accepted, BaseException):
            raise self._accepted
        return self

    def __await__(self) -> Generator[Any, None, Self]:
        return self._accept().__await__()

    async def pieces(self) -> AsyncIterator[str]:
        """Returns the text of the agent in pieces, as they arrive. Other events are skipped."""
        async for event in self:
            for piece in self._text.pieces(event):
                yield piece

    async def text(self, *, timeout: float | None = None) -> str:
        """Reads the run to its end and returns the text of its last message, empty if it has no text.
        Events that were read before are not part of the text.

        Raises the error of the run, or `TimedOutError` if the run is not over after `timeout` seconds. Raises
        `UsageError` if all events were read or dropped before, as by `result`.
        """
        text = LastText(self._text)

        async def read() -> None:
            async for event in self:
                text.observe(event)

        if not await self._reactor.backend.within(timeout, read()):
            raise run_timeout(self.command, timeout)
        return complete(text, self._stream)

    async def result(self, *, timeout: float | None = None) -> RunResult[E]:
        """Waits for the end of the run. Unread events are dropped.

        Raises `RunFailedError` if the model request failed after all retries of the agent. Other
        errors are those of `wait`.
        """
        return succeeded(await self.wait(timeout=timeout))

    async def wait(self, *, timeout: float | None = None) -> RunResult[E]:
        """Waits for the end of the run like `result`, but returns a failed run as a result.

        If the agent acknowledges an abort and starts no new work, the run ends after ten seconds at
        most, plus the time of a state query.

        Raises `RefusedError` if the agent rejected the prompt after its acceptance, and
        `TerminatedError` if the connection ended first. Raises `TimedOutError` if the run is not
        over after `timeout` seconds.
        """
        if not await self._reactor.backend.within(timeout, self._end()):
            raise run_timeout(self.command, timeout)
        return outcome(self._stream)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self.command}>"


class AsyncClientBase(Generic[E, D]):
    """Client of an agent, for one event loop of asyncio or trio. Any number of its tasks may use it
    concurrently.

    Use it in an `async with` statement, or await `close`. Cancelling a task only cancels its call.
    """

    __slots__ = ("__weakref__", "_closed", "_connection", "_questions", "_reactor", "_spawned", "_tap")

    dialect: ClassVar[str]
    _table: ClassVar[EventTable]
    _data: ClassVar[Mapping[str, Decoder | None]]
    _params: ClassVar[Mapping[str, Decoder | None]]
    _dialogs: ClassVar[dialoging.DialogTable]
    _session: ClassVar[str | None]
    _run: ClassVar[type[AsyncRunBase[Any, Any]]]

    def __init__(self, connection: Connection, reactor: Reactor) -> None:
        """Not for direct use: call `spawn` or `connect`."""
        self._connection = connection
        self._reactor = reactor
        self._closed = False
        self._spawned: tuple[Any, ...] | None = None
        self._tap: Tap | None = None
        # Open questions, with the functions that cancel their tasks.
        self._questions: dict[Question, Callable[[], object]] = {}

    @classmethod
    def _make(cls, connect: Any, target: Any, dialogs: D | None, given: Any) -> Self:
        reactor = Reactor(backends.current())
        try:
            token = None if dialogs is None else reactor.token()
            tap = Tap(given)
            seen = reactor.token() if tap else None
            dialect = options.dialect(cls.dialect, given)
            made_with = options.connection(given, tap)
            connection = connect(dialect, target, made_with, cls._table, reactor.mailbox, token, seen)
        except BaseException:
            reactor.close()
            raise
        return cls._begin(connection, reactor, dialogs, token, tap, seen)

    @classmethod
    def _from_transport(
        cls,
        transport: AgentTransport,
        reactor: Reactor,
        revision: str | None,
        dialogs: Any,
        tap: Tap,
        seen: int | None,
        watched: int,
        given: Any,
    ) -> Self:
        """Connects to an agent that `AgentTransport` has opened, and stores its complete frames."""
        token = None if dialogs is None else reactor.token()
        named = options.dialect(cls.dialect, given if revision is None else {**given, "revision": revision})
        made_with = options.connection(given, tap)
        connection = Connection.from_transport(transport, named, made_with, cls._table, reactor.mailbox, token, watched)
        return cls._begin(connection, reactor, dialogs, token, tap, seen)

    @classmethod
    def _begin(
        cls, connection: Connection, reactor: Reactor, dialogs: Any, token: int | None, tap: Tap, seen: int | None
    ) -> Self:
        client = cls(connection, reactor)
        if token is not None:
            questions, table, backend = client._questions, cls._dialogs, reactor.backend
            reactor.on_token(token, lambda: _answer_all(connection, table, dialogs, questions, backend))
        if seen is not None:
            client._tap = tap
            reactor.on_token(seen, lambda: tap.deliver(connection, connection.frames()))
        return client

    @classmethod
    def spawn(
        cls, command: Sequence[options.CommandArgument], *, dialogs: D | None = None, **given: Unpack[options.SpawnOptions]
    ) -> Self:
        """Starts an agent and connects to its stdin and stdout, on the running loop. Raises `SpawnError` if
        the program cannot be started."""
        options.check(given, options.SpawnOptions)
        client = cls._make(Connection.spawn, options.program(command, given), dialogs, given)
        client._spawned = (command, dialogs, given)
        return client

    @classmethod
    def connect(
        cls, socket: sockets.socket, *, dialogs: D | None = None, **given: Unpack[options.ClientOptions]
    ) -> Self:
        """Connects to the agent at the other end of a Unix socket (on Windows: a TCP socket), on the running
        loop. The caller closes the socket."""
        options.check(given, options.ClientOptions)
        return cls._make(Connection.connect, socket.fileno(), dialogs, given)

    def respawn(self) -> Self:
        """Starts the program of this client again and returns a new client for it. This client is
        unchanged.
        """
        if self._spawned is None:
            raise UsageError("this client was not started from a program")
        command, dialogs, given = self._spawned
        return type(self).spawn(command, dialogs=dialogs, **given)

    @property
    def process_id(self) -> int | None:
        """Id of the agent's process, if this client started it."""
        return self._connection.process_id

    @property
    def termination(self) -> Termination | None:
        """Termination of the connection; `None` while it is open."""
        return self._connection.termination

    @property
    def revision(self) -> str | None:
        """Revision that the agent speaks, such as `pi@1.5`: the one in the options, or the one that the
        agent's frames show. It is `None` before the detection, and if the dialect has a single revision."""
        return self._connection.revision

    @property
    def dropped_events(self) -> int:
        """Number of events dropped for lack of a subscriber."""
        return self._connection.dropped_events

    @property
    def dropped_frames(self) -> int:
        """Number of frames and lines of stderr that `on_frame` and `on_stderr` missed, because they were too
        slow."""
        return self._connection.dropped_frames

    def diagnostics(self) -> list[tuple[str, str]]:
        """Returns unexpected input that did not end the connection, as pairs of kind and text; the
        latest 256, oldest first."""
        return self._connection.diagnostics()

    def events(self) -> AsyncEvents[E]:
        """Subscribes to all events of the connection from now on, including those of runs."""
        token = self._reactor.token()
        return AsyncEvents(self._reactor, self._connection.events(token), token)

    async def request(
        self, command: str, members: Mapping[str, JsonValue] | None = None, *, timeout: Timeout = DEFAULT
    ) -> JsonValue:
        """Sends any command, declared or not, and returns the data of its response, `None` without data.
        `members` are not validated."""
        token = self._reactor.token()
        call = self._connection.call(command, encode_members(members or {}), limit(timeout), token)
        data: JsonValue = await self._wait(call, token, ANY)
        return data

    def send_raw(self, line: str) -> None:
        """Sends a line unchanged, without validation and without waiting for a response."""
        self._connection.send_raw(line)

    async def close(self) -> Termination:
        """Ends the agent and waits for its termination. The client closes the agent's stdin, then sends
        SIGTERM and finally SIGKILL to its process group."""
        self._closed = True
        token = self._reactor.token()
        try:
            end: Termination = await self._wait(self._connection.close(token), token, None)
            if self._tap is not None:
                # The tap also receives the last frames.
                self._tap.deliver(self._connection, self._connection.frames())
        finally:
            self._reactor.close()
            # Answers can no longer be sent.
            for question, cancel in list(self._questions.items()):
                if self._dialogs[question.method][2] is not None and question is not dialoging.current_question.get():
                    cancel()
        return end

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and not self._connection.inherited:
            self._reactor.close()
            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self, stacklevel=2)

    def __repr__(self) -> str:
        of = "another process" if self._connection.inherited else f"process={self._connection.process_id}"
        return f"<{type(self).__module__}.{type(self).__name__} {of}>"

    async def _wait(self, pending: Operation, token: int, decoder: Decoder | None) -> Any:
        try:
            await self._reactor.wait(token, pending)
        except BaseException:
            pending.cancel()
            raise
        return pending.take(decoder)

    def _call(self, command: str, members: Mapping[str, Any], timeout: Timeout) -> Any:
        return self._send(command, checked(command, members, self._params[command]), timeout)

    def _send(self, command: str, members: str, timeout: Timeout) -> Any:
        # The command is sent before the `await`, so that commands are sent in the order of the
        # calls.
        token = self._reactor.token()
        return self._wait(self._connection.call(command, members, limit(timeout), token), token, self._data[command])

    def _start(
        self, command: str, members: Mapping[str, Any], timeout: Timeout, limits: RunLimits | None = None
    ) -> Any:
        events, answer = self._reactor.token(), self._reactor.token()
        text = checked(command, members, self._params[command])
        stream, pending = self._connection.start(command, text, limit(timeout), events, answer, to_native(limits))
        session = "" if self._session is None else members.get(self._session, "")
        return self._run(self, command, session, self._reactor, (stream, events), (pending, answer))


def _answer_all(
    connection: Connection,
    table: dialoging.DialogTable,
    handler: object,
    questions: dict[Question, Callable[[], object]],
    backend: backends.Backend,
) -> None:
    for question, cancel in list(questions.items()):
        if table[question.method][2] is not None and question.withdrawn():
            cancel()
    for question in connection.questions():
        questions[question] = backend.start(
            lambda question=question: _answer(question, table, handler),  # type: ignore[misc]
            lambda question=question: questions.pop(question, None),  # type: ignore[misc]
        )


async def _answer(question: Question, table: dialoging.DialogTable, handler: object) -> None:
    try:
        answer = dialoging.call_handler(question, table, handler)
        dialoging.send_answer(question, table, await answer if inspect.isawaitable(answer) else answer)
    except Exception:
        dialoging.report_failure(question)
