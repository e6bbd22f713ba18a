"""Typed clients for threads."""

import socket as sockets
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar, Unpack

from agentese import dialogs as dialoging
from agentese import lifetime, options
from agentese._native import AgentTransport, Connection, Decoder, EventTable, Operation
from agentese.errors import Termination, UsageError
from agentese.limits import RunLimits, to_native
from agentese.members import DEFAULT, Timeout, checked, encode_members, limit
from agentese.run import ANY, SyncRun, accepted
from agentese.tap import Tap
from agentese.values import JsonValue

E = TypeVar("E")
D = TypeVar("D")

LAST_FRAMES = 1.0
"""Maximum time in seconds for which `close` waits until `on_frame` has received the last frames."""


class SyncClient(Generic[E, D]):
    """Client of an agent, for threads. Any number of threads may use it concurrently.

    Use it in a `with` statement, or call `close`. Ctrl-C interrupts every wait.
    """

    __slots__ = ("__weakref__", "_closed", "_connection", "_spawned", "_tap")

    dialect: ClassVar[str]
    _table: ClassVar[EventTable]
    _data: ClassVar[Mapping[str, Decoder | None]]
    _params: ClassVar[Mapping[str, Decoder | None]]
    _dialogs: ClassVar[dialoging.DialogTable]
    _session: ClassVar[str | None]
    _run: ClassVar[type[SyncRun[Any, Any]]]

    def __init__(self, connection: Connection, dialogs: D | None, tap: Tap) -> None:
        """Not for direct use: call `spawn` or `connect`."""
        self._connection = connection
        self._closed = False
        self._spawned: tuple[Any, ...] | None = None
        if dialogs is not None:
            run = threading.Thread(target=dialoging.serve, args=(connection, self._dialogs, dialogs), daemon=True)
            lifetime.start("agentese-dialogs", run)
        self._tap: threading.Thread | None = None
        if tap:
            self._tap = threading.Thread(target=tap.serve, args=(connection,), daemon=True)
            lifetime.start("agentese-frames", self._tap)

    @classmethod
    def spawn(
        cls, command: Sequence[options.CommandArgument], *, dialogs: D | None = None, **given: Unpack[options.SpawnOptions]
    ) -> Self:
        """Starts an agent and connects to its stdin and stdout. Raises `SpawnError` if the program cannot be
        started."""
        options.check(given, options.SpawnOptions)
        tap = Tap(given)
        connection = Connection.spawn(
            options.dialect(cls.dialect, given),
            options.program(command, given),
            options.connection(given, tap),
            cls._table,
            None,
            None if dialogs is None else 0,
            0 if tap else None,
        )
        client = cls(connection, dialogs, tap)
        client._spawned = (command, dialogs, given)
        return client

    @classmethod
    def connect(
        cls, socket: sockets.socket, *, dialogs: D | None = None, **given: Unpack[options.ClientOptions]
    ) -> Self:
        """Connects to the agent at the other end of a Unix socket (on Windows: a TCP socket). The caller
        closes the socket."""
        options.check(given, options.ClientOptions)
        tap = Tap(given)
        connection = Connection.connect(
            options.dialect(cls.dialect, given),
            socket.fileno(),
            options.connection(given, tap),
            cls._table,
            None,
            None if dialogs is None else 0,
            0 if tap else None,
        )
        return cls(connection, dialogs, tap)

    @classmethod
    def _from_transport(
        cls, transport: AgentTransport, revision: str | None, dialogs: Any, tap: Tap, given: options.ClientOptions
    ) -> Self:
        """Connects to an agent that `AgentTransport` has opened, and stores its complete frames."""
        named = options.dialect(cls.dialect, given if revision is None else {**given, "revision": revision})
        made_with = options.connection(given, tap)
        wanted = None if dialogs is None else 0
        connection = Connection.from_transport(transport, named, made_with, cls._table, None, wanted, 0)
        return cls(connection, dialogs, tap)

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

    def events(self) -> Iterator[E]:
        """Subscribes to all events of the connection from now on, including those of runs."""
        return self._connection.events()

    def request(
        self, command: str, members: Mapping[str, JsonValue] | None = None, *, timeout: Timeout = DEFAULT
    ) -> JsonValue:
        """Sends any command, declared or not, and returns the data of its response, `None` without data.
        `members` are not validated."""
        data: JsonValue = self._wait(self._connection.call(command, encode_members(members or {}), limit(timeout)), ANY)
        return data

    def send_raw(self, line: str) -> None:
        """Sends a line unchanged, without validation and without waiting for a response."""
        self._connection.send_raw(line)

    def close(self) -> Termination:
        """Ends the agent and waits for its termination. The client closes the agent's stdin, then sends
        SIGTERM and finally SIGKILL to its process group."""
        self._closed = True
        end: Termination = self._wait(self._connection.close(), None)
        if self._tap not in (None, threading.current_thread()):
            # The tap also receives the last frames, if its callback returns in time.
            self._tap.join(LAST_FRAMES)
        return end

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and not self._connection.inherited:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self, stacklevel=2)

    def __repr__(self) -> str:
        of = "another process" if self._connection.inherited else f"process={self._connection.process_id}"
        return f"<{type(self).__module__}.{type(self).__name__} {of}>"

    def _wait(self, pending: Operation, decoder: Decoder | None) -> Any:
        pending.wait()
        return pending.take(decoder)

    def _call(self, command: str, members: Mapping[str, Any], timeout: Timeout) -> Any:
        text = checked(command, members, self._params[command])
        return self._wait(self._connection.call(command, text, limit(timeout)), self._data[command])

    def _start(
        self, command: str, members: Mapping[str, Any], timeout: Timeout, limits: RunLimits | None = None
    ) -> Any:
        text = checked(command, members, self._params[command])
        stream, answer = self._connection.start(command, text, limit(timeout), limits=to_native(limits))
        data = accepted(answer)
        session = "" if self._session is None else members.get(self._session, "")
        return self._run(self, command, session, stream, data)
