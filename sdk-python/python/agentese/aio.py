"""A client for asyncio, with the methods of the client for threads."""

import asyncio
import inspect
import socket as sockets
import warnings
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar, Unpack

from agentese import dialogs as dialoging
from agentese import lifetime as lifetime
from agentese import options, tap
from agentese._native import Connection, Decoder, EventTable, Pending, Question, Stream
from agentese.errors import Termination, TimedOutError, UsageError
from agentese.members import DEFAULT, Timeout, encode_members, limit
from agentese.reactor import Reactor
from agentese.run import ANY, RunResult, outcome
from agentese.values import JsonValue

E = TypeVar("E")
C = TypeVar("C")
D = TypeVar("D")


class AsyncEvents(Generic[E]):
    """Events, batch by batch out of the native core, one by one to who iterates."""

    __slots__ = ("_batch", "_reactor", "_stream", "_ticket")

    def __init__(self, reactor: Reactor, stream: Stream, ticket: int) -> None:
        self._reactor = reactor
        self._stream = stream
        self._ticket = ticket
        self._batch: Iterator[E] = iter(())

    async def __aiter__(self) -> AsyncIterator[E]:
        # What is left of a batch stays for whoever iterates next.
        while True:
            for event in self._batch:
                yield event
            events = self._stream.poll()
            if events is None:
                await self._reactor.wait(self._ticket)
            elif events:
                self._batch = iter(events)
                # A stream that always has more must not starve the loop.
                await asyncio.sleep(0)
            else:
                # Raises how it failed, once.
                for event in self._stream:
                    yield event
                return

    async def _end(self) -> None:
        self._batch = iter(())
        while not self._stream.skip():
            await self._reactor.wait(self._ticket)


class AsyncRunBase(AsyncEvents[E], Generic[E, C]):
    """The work that a prompt started: iterate over its events with `async for`.

    The prompt is on its way when this is made. Awaiting it gives itself as soon as the agent has taken the prompt,
    and raises a refusal. It ends when the run is over: retries, automatic compactions and reminders that start it
    again are part of it. Letting go of it stops listening and nothing else: the agent goes on working (use `abort`
    to stop it).
    """

    __slots__ = ("_accepted", "_answer", "_answer_ticket", "answer", "client", "command", "session")

    client: C
    command: str
    session: str
    answer: JsonValue
    """The data of the answer that accepted the run, once it is awaited and where there is any."""

    def __init__(
        self,
        client: C,
        command: str,
        session: str,
        reactor: Reactor,
        stream: tuple[Stream, int],
        answer: tuple[Pending, int],
    ) -> None:
        super().__init__(reactor, *stream)
        self.client = client
        self.command = command
        self.session = session
        self.answer = None
        self._answer, self._answer_ticket = answer
        taken = reactor.expect(self._answer_ticket)
        self._accepted: asyncio.Task[None] = reactor.loop.create_task(self._accept(taken))
        # Whoever iterates hears of a refusal as the end of the run.
        self._accepted.add_done_callback(_seen)

    async def _accept(self, taken: "asyncio.Future[None]") -> None:
        await self._reactor.wait(self._answer_ticket, taken)
        self.answer = self._answer.take(ANY)

    def __await__(self) -> "Generator[Any, None, Self]":
        yield from asyncio.shield(self._accepted).__await__()
        return self

    async def result(self, *, timeout: float | None = None) -> RunResult[E]:
        """Waits for the end of the run; events that were not read are dropped.

        Raises how it failed, and `TimedOutError` where it is not over after `timeout` seconds.
        """
        try:
            async with asyncio.timeout(timeout):
                await self._end()
        except TimeoutError:
            text = f"the run of `{self.command}` is not over after {timeout} s"
            raise TimedOutError(text, command=self.command, after=timeout or 0.0) from None
        return outcome(self._stream)


def _seen(task: "asyncio.Task[None]") -> None:
    if not task.cancelled():
        task.exception()


class AsyncClientBase(Generic[E, D]):
    """A client of an agent, for one event loop. Any number of its tasks may use it at once.

    Cancelling a task gives up its call and nothing else. Use it in an `async with` statement, or await `close`.
    """

    __slots__ = ("__weakref__", "_closed", "_connection", "_on_frame", "_reactor", "_spawned", "_tasks")

    dialect: ClassVar[str]
    _table: ClassVar[EventTable]
    _data: ClassVar[Mapping[str, Decoder | None]]
    _dialogs: ClassVar[dialoging.Table]
    _session: ClassVar[str | None]
    _run: ClassVar[type[AsyncRunBase[Any, Any]]]

    def __init__(self, connection: Connection, reactor: Reactor) -> None:
        """Use `spawn` or `connect`."""
        self._connection = connection
        self._reactor = reactor
        self._closed = False
        self._spawned: tuple[Any, ...] | None = None
        self._on_frame: tap.OnFrame | None = None
        self._tasks: dict[asyncio.Task[None], Question] = {}

    @classmethod
    def _make(cls, connect: Any, target: Any, dialogs: D | None, given: Any) -> Self:
        reactor = Reactor(asyncio.get_running_loop())
        ticket = None if dialogs is None else reactor.ticket()
        on_frame: tap.OnFrame | None = given.get("on_frame")
        seen = None if on_frame is None else reactor.ticket()
        dialect = options.dialect(cls.dialect, given)
        made_with = options.connection(given)
        try:
            connection = connect(dialect, target, made_with, cls._table, reactor.mailbox, ticket, seen)
        except BaseException:
            reactor.close()
            raise
        client = cls(connection, reactor)
        if ticket is not None:
            tasks, table = client._tasks, cls._dialogs
            reactor.stand(ticket, lambda: _answer_all(connection, table, dialogs, tasks, reactor.loop))
        if on_frame is not None and seen is not None:
            look = on_frame
            client._on_frame = look
            reactor.stand(seen, lambda: tap.show(connection, connection.frames(), look))
        return client

    @classmethod
    def spawn(
        cls, command: Sequence[options.Word], *, dialogs: D | None = None, **given: Unpack[options.SpawnOptions]
    ) -> Self:
        """Starts a program and drives it on the running loop. Raises `SpawnError` where it cannot be started."""
        client = cls._make(Connection.spawn, options.program(command, given), dialogs, given)
        client._spawned = (command, dialogs, given)
        return client

    @classmethod
    def connect(
        cls, socket: sockets.socket, *, dialogs: D | None = None, **given: Unpack[options.ClientOptions]
    ) -> Self:
        """Drives whatever is at the other end of a connected Unix socket, which stays the caller's to close."""
        return cls._make(Connection.connect, socket.fileno(), dialogs, given)

    def respawn(self) -> Self:
        """Starts the program of this client once more, with nothing of the old connection in it."""
        if self._spawned is None:
            raise UsageError("this client was not started from a program")
        command, dialogs, given = self._spawned
        return type(self).spawn(command, dialogs=dialogs, **given)

    @property
    def process_id(self) -> int | None:
        """The id of the agent's process, where this client started it."""
        return self._connection.process_id

    @property
    def termination(self) -> Termination | None:
        """How the connection ended, where it has."""
        return self._connection.termination

    @property
    def dropped_events(self) -> int:
        """How many events nobody listened to."""
        return self._connection.dropped_events

    @property
    def dropped_frames(self) -> int:
        """How many frames `on_frame` was not shown, because it was too far behind."""
        return self._connection.dropped_frames

    def diagnostics(self) -> list[tuple[str, str]]:
        """The newest odd inputs that did not stop the connection, as kinds and texts."""
        return self._connection.diagnostics()

    def events(self) -> AsyncEvents[E]:
        """All events of the connection from now on, those of runs among them."""
        ticket = self._reactor.ticket()
        return AsyncEvents(self._reactor, self._connection.events(ticket), ticket)

    async def request(
        self, command: str, members: Mapping[str, JsonValue] | None = None, *, timeout: Timeout = DEFAULT
    ) -> JsonValue:
        """Sends any command, declared or not, and gives the data of its answer, `None` where it has none."""
        ticket = self._reactor.ticket()
        call = self._connection.call(command, encode_members(members or {}), limit(timeout), ticket)
        data: JsonValue = await self._wait(call, ticket, ANY)
        return data

    def send_raw(self, line: str) -> None:
        """Sends a line as it is. No answer is waited for, and nothing is checked."""
        self._connection.send_raw(line)

    async def close(self) -> Termination:
        """Shuts the agent down and waits for its end: stdin is closed, then its process group gets TERM and KILL."""
        self._closed = True
        ticket = self._reactor.ticket()
        try:
            end: Termination = await self._wait(self._connection.close(ticket), ticket, None)
            if self._on_frame is not None:
                # What passed last is shown too.
                tap.show(self._connection, self._connection.frames(), self._on_frame)
        finally:
            self._reactor.close()
            # Nobody waits for answers any more.
            for task, question in list(self._tasks.items()):
                if self._dialogs[question.method][2] is not None and task is not asyncio.current_task():
                    task.cancel()
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

    async def _wait(
        self, pending: Pending, ticket: int, decoder: Decoder | None, done: "asyncio.Future[None] | None" = None
    ) -> Any:
        try:
            await self._reactor.wait(ticket, done)
        except BaseException:
            pending.cancel()
            raise
        return pending.take(decoder)

    def _call(self, command: str, members: Mapping[str, Any], timeout: Timeout) -> Any:
        # Sent now, in the order of the calls, whenever it is awaited.
        ticket = self._reactor.ticket()
        call = self._connection.call(command, encode_members(members), limit(timeout), ticket)
        return self._wait(call, ticket, self._data[command], self._reactor.expect(ticket))

    def _start(self, command: str, members: Mapping[str, Any], timeout: Timeout) -> Any:
        events, answer = self._reactor.ticket(), self._reactor.ticket()
        stream, pending = self._connection.start(command, encode_members(members), limit(timeout), events, answer)
        session = "" if self._session is None else members.get(self._session, "")
        return self._run(self, command, session, self._reactor, (stream, events), (pending, answer))


def _answer_all(
    connection: Connection,
    table: dialoging.Table,
    handler: object,
    tasks: "dict[asyncio.Task[None], Question]",
    loop: asyncio.AbstractEventLoop,
) -> None:
    for task, asked in list(tasks.items()):
        if table[asked.method][2] is not None and asked.withdrawn():
            task.cancel()
    for question in connection.questions():
        task = loop.create_task(_answer(question, table, handler))
        tasks[task] = question
        task.add_done_callback(lambda done: tasks.pop(done, None))


async def _answer(question: Question, table: dialoging.Table, handler: object) -> None:
    try:
        answer = dialoging.ask(question, table, handler)
        dialoging.settle(question, table, await answer if inspect.isawaitable(answer) else answer)
    except Exception:
        dialoging.failed(question)
