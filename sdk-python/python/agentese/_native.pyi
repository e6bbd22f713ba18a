"""Native core; not part of the public interface."""

from collections.abc import Awaitable, Iterator
from typing import Any, Self, final

from typing_extensions import disjoint_base

__all__ = [
    "AsyncBatch",
    "Connection",
    "Decoder",
    "EventTable",
    "Framer",
    "Mailbox",
    "Member",
    "AgentTransport",
    "Operation",
    "Question",
    "Record",
    "Server",
    "ServerCall",
    "Stream",
    "commands",
    "facts",
    "forked",
    "hold_threads",
    "plain_class",
    "shut_down",
]

@disjoint_base
class AsyncBatch:
    """Asynchronous iterator over events, one at a time."""

    def __new__(cls, *_args: Any, **_options: Any) -> Self: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[Any]: ...
    def _read(self, stream: Stream) -> None:
        """Sets the stream that supplies the events."""

@disjoint_base
class Record:
    """Immutable JSON object whose members are decoded at access."""

    def __new__(cls, **members: Any) -> Self:
        """Creates a record from its members, by keyword."""
    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads an object from its JSON text. Validates its structure only."""
    @classmethod
    def _checked(cls, text: str) -> Self:
        """Reads an object from its JSON text and validates it completely. Raises `EncodeError` on a mismatch.
        """
    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        """Returns the schema for pydantic."""
    @classmethod
    def from_dict(cls, members: Any) -> Self:
        """Creates a record from members with their wire names."""
    @property
    def raw(self) -> str:
        """Original JSON text of the object."""
    def to_dict(self) -> Any:
        """Returns all members, decoded, including undeclared ones."""
    def __setattr__(self, name: str, value: Any, /) -> None: ...
    def __delattr__(self, name: str, /) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, tuple[str]]: ...

@final
class Member:
    """Member of a record that is decoded at access."""

    def __new__(
        cls, name: str, kind: str, doc: str = "", required: bool = True, nullable: bool = False
    ) -> Self: ...
    @property
    def name(self) -> str:
        """Wire name of the member."""
    @property
    def required(self) -> bool:
        """`True` if the member is always present."""
    @property
    def nullable(self) -> bool:
        """`True` if the member may be null."""
    def __get__(self, record: Any, owner: Any = None, /) -> Any: ...
    def __set__(self, record: Any, value: Any, /) -> None: ...

@final
class Decoder:
    """Decoder for values of one kind."""

    def __new__(cls, kind: str, nullable: bool = False) -> Self: ...
    def decode(self, text: str) -> Any:
        """Returns the value of a JSON text."""
    def check(self, text: str, what: str) -> None:
        """Validates an outgoing JSON text completely; `what` is the prefix of the error."""

@final
class EventTable:
    """Table of the classes of declared events, with a class for all other events."""

    def __new__(cls, classes: dict[str, type[Record]], unknown: type[Record]) -> Self: ...
    def decode(self, dialect: str, line: str) -> Any:
        """Returns the event in a line of an agent, with or without the envelope of its dialect."""

@final
class Mailbox:
    """List of the tokens of completed operations, for one event loop."""

    def __new__(cls) -> Self: ...
    def fileno(self) -> int:
        """Returns the descriptor that is readable while tokens are available."""
    @property
    def inherited(self) -> bool:
        """`True` if this process inherited the mailbox by a fork; it cannot be used then."""
    def drain(self) -> list[int]:
        """Removes and returns all tokens."""

@final
class Operation:
    """Asynchronous operation of the native core. Dropping the object cancels it."""

    def wait(self, seconds: float | None = None) -> bool:
        """Blocks until the operation is done, at most `seconds`. Returns `False` after the time limit."""
    def take(self, decoder: Decoder | None = None) -> Any:
        """Returns the result of the operation. Raises its error."""
    @property
    def done(self) -> bool:
        """`True` if the operation is done."""
    def cancel(self) -> None:
        """Cancels the operation."""

@final
class Stream:
    """Events of a queue."""

    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def fill(self) -> bool | None:
        """Checks for events without blocking. Returns `True` if events are available, `False` at
        the end, and `None` if no event has arrived. Raises the error of the stream once."""
    def take(self, most: int | None = None) -> list[Any]:
        """Removes and returns the events that `fill` found, up to `most` of them."""
    def batch(self, seconds: float | None = None) -> list[Any] | None:
        """Returns the next events, blocking: an empty list at the end, and `None` after `seconds` without an
        event."""
    def skip(self) -> bool:
        """Drops the available events. Returns `True` at the end."""
    def wait_end(self, seconds: float | None = None) -> bool:
        """Drops events until the end. Returns `True` at the end."""
    def outcome(self) -> tuple[Any, Any, bool, bool, Any] | None:
        """Returns the result of a run: cause of the end, last event, and whether the end is
        confirmed, the run was aborted, and why it failed. Returns `None` before the end. Raises the
        error of the run."""

@final
class Question:
    """Question or notice of the agent."""

    @property
    def method(self) -> str:
        """Wire name of the method."""
    def record(self, class_: type[Record], /) -> Any:
        """Returns the parameters as an instance of the class."""
    def withdrawn(self, timeout: float | None = 0.0) -> bool:
        """Returns `True` if the agent has withdrawn the question or the connection has ended. Waits up to
        `timeout` seconds for that."""
    def answer(self, members: str | None = None) -> None:
        """Answers with the members of a JSON object; `None` applies the declared policy."""
    def fail(self, reason: str) -> None:
        """Reports the failure of the handler and applies the declared policy."""

@final
class Connection:
    """Connection to an agent. All methods are thread-safe."""

    @staticmethod
    def spawn(
        dialect: str,
        program: dict[str, Any],
        options: dict[str, Any],
        table: EventTable,
        mailbox: Mailbox | None = None,
        dialogs: int | None = None,
        frames: int | None = None,
    ) -> Connection:
        """Starts a program and connects to it."""
    @staticmethod
    def connect(
        dialect: str,
        socket: int,
        options: dict[str, Any],
        table: EventTable,
        mailbox: Mailbox | None = None,
        dialogs: int | None = None,
        frames: int | None = None,
    ) -> Connection:
        """Connects over a Unix socket."""
    @staticmethod
    def from_transport(
        transport: AgentTransport,
        dialect: str,
        options: dict[str, Any],
        table: EventTable,
        mailbox: Mailbox | None = None,
        dialogs: int | None = None,
        watched: int | None = None,
    ) -> Connection:
        """Connects to an agent that `AgentTransport` has opened."""
    @property
    def inherited(self) -> bool:
        """`True` if this process inherited the connection by a fork, and cannot use it."""
    @property
    def dialect(self) -> str:
        """Dialect with its revision, as `NAME@REVISION`."""
    @property
    def process_id(self) -> int | None:
        """Id of the agent's process, if this process started it."""
    @property
    def revision(self) -> str | None:
        """Revision of the agent as `NAME@REVISION`, if known."""
    @property
    def dropped_events(self) -> int:
        """Number of events dropped for lack of a subscriber."""
    @property
    def termination(self) -> Any:
        """Termination of the connection, if it has ended."""
    def diagnostics(self) -> list[tuple[str, str]]:
        """Returns the latest 256 irregularities, each as its kind and a text."""
    def call(
        self, command: str, members: str, timeout: float | bool | None = None, token: int | None = None
    ) -> Operation:
        """Sends a command with its members as JSON."""
    def start(
        self,
        command: str,
        members: str,
        timeout: float | bool | None = None,
        events_token: int | None = None,
        answer_token: int | None = None,
        limits: tuple[int | None, float | None, float | None, int | None] | None = None,
    ) -> tuple[Stream, Operation]:
        """Sends a command that starts a run. Returns the events of the run and the response that accepts it.
        """
    def events(self, token: int | None = None) -> Stream:
        """Subscribes to all events from now on."""
    def send_raw(self, line: str) -> None:
        """Sends a line unchanged."""
    def close(self, token: int | None = None) -> Operation:
        """Shuts the agent down and returns the termination."""
    def terminated(self, token: int | None = None) -> Operation:
        """Waits for the termination of the connection."""
    def next_question(self) -> Question | None:
        """Returns the next question, blocking; `None` at the end."""
    def next_frames(self) -> list[tuple[Any, str]] | None:
        """Returns the next frames of both directions, blocking; `None` at the end."""
    def frames(self) -> list[tuple[Any, str]]:
        """Returns and removes the available frames of both directions."""
    def wait_watched(self) -> bool:
        """Blocks until complete frames are available in `watched`. Returns `False` at the end, or
        if frames are not stored.
        """
    def watched(self) -> list[tuple[Any, str]]:
        """Returns and removes the available complete frames, without redaction."""
    def stop_frames(self) -> None:
        """Stops storing frames."""
    @property
    def dropped_frames(self) -> int:
        """Number of dropped frames."""
    def questions(self) -> list[Question]:
        """Returns and removes the available questions."""

@final
class AgentTransport:
    """Agent that no client is connected to yet. Dropping the object ends the agent."""

    @staticmethod
    def spawn(
        program: dict[str, Any], wants: dict[str, bool], mailbox: Mailbox | None = None, frames: int | None = None
    ) -> AgentTransport:
        """Starts a program as an agent."""
    @staticmethod
    def connect(socket: int, mailbox: Mailbox | None = None, frames: int | None = None) -> AgentTransport:
        """Uses a connected Unix socket."""
    def detect(self, within: float, token: int | None = None) -> Operation:
        """Detects the dialect of the agent within `within` seconds. The result of the operation is
        its name.
        """

@final
class Framer:
    """Framer that splits bytes into lines. Only LF ends a line, and one CR before it is dropped."""

    def __new__(cls, *, max_line: int = ..., keep_bom: bool = False) -> Self: ...
    def push(self, chunk: bytes) -> list[tuple[str | None, tuple[str, int, int] | None]]:
        """Consumes the next bytes and returns the lines that end in them."""
    def finish(self) -> list[tuple[str | None, tuple[str, int, int] | None]]:
        """Returns the last line, if the stream ended inside a line."""

@final
class Server:
    """Server of one client."""

    @staticmethod
    def start(
        dialect: str, mailbox: Mailbox, calls: int, ended: int, socket: int | None = None
    ) -> tuple[Server, Operation]:
        """Serves stdin and stdout of this process, or a connected Unix socket."""
    def calls(self) -> tuple[list[ServerCall], bool]:
        """Returns and removes the available commands. The second value is `True` if running work
        must stop.
        """

@final
class ServerCall:
    """Command that a client has sent and that is in progress."""

    @property
    def command(self) -> str:
        """Wire name of the command."""
    def params(self, class_: type[Record], /) -> Any:
        """Returns the parameters as an instance of the class."""
    def answer(self, data: str | None = None) -> None:
        """Sends the response before the handler is done. Raises an error if the data does not fit its
        declaration."""
    def finish(self, data: str | None = None) -> None:
        """Ends the command when its handler is done."""
    def reject(self, message: str, code: int | None = None, data: str | None = None) -> None:
        """Rejects the command with an error."""
    def emit(self, body: str, mailbox: Mailbox, token: int) -> Operation:
        """Sends an event. The operation is done when there is room for more output. Raises an error
        if the event does not fit its declaration."""
    def ask(self, method: str, params: str, timeout: float | None, mailbox: Mailbox, token: int) -> Operation:
        """Sends a question or a notice. The result of the operation is the answer's members."""

def commands(dialect: str) -> list[str]:
    """Returns the wire names of the commands of a dialect, `NAME` or `NAME@REVISION`. Without a revision,
    returns those of all revisions."""

def facts(dialect: str) -> tuple[bool, tuple[str, str] | None, str | None]:
    """Returns facts about a dialect: `True` for JSON-RPC; the barrier command, with the member of its
    response that is `True` during a run; the `type` of answers to dialogs."""

def shut_down(seconds: float) -> None:
    """Ends all agents and waits for them, at most `seconds`."""

def hold_threads() -> None:
    """Keeps other threads in native code while the interpreter shuts down, for a second at most."""

def forked() -> None:
    """Marks this process as a forked child."""

def plain_class(name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
    """Creates a class like the metaclass of a `class` statement with the single base `Record`."""
