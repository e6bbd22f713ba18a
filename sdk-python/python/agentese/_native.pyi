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
    """Events that `async for` consumes one by one."""

    def __new__(cls, *_args: Any, **_options: Any) -> Self: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[Any]: ...
    def _read(self, stream: Stream) -> None:
        """Sets the stream from which the events are taken."""

@disjoint_base
class Record:
    """Immutable JSON object. A member is decoded when it is accessed."""

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
        """Original JSON text."""
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
    """Descriptor for a member of a record. The member is decoded when it is accessed."""

    def __new__(
        cls, name: str, kind: str, doc: str = "", required: bool = True, nullable: bool = False
    ) -> Self: ...
    @property
    def name(self) -> str:
        """Wire name."""
    @property
    def required(self) -> bool:
        """`True` if the declaration requires the member."""
    @property
    def nullable(self) -> bool:
        """`True` if the member may be null."""
    def __get__(self, record: Any, owner: Any = None, /) -> Any: ...
    def __set__(self, record: Any, value: Any, /) -> None: ...

@final
class Decoder:
    """Decoder for values of one declared kind."""

    def __new__(cls, kind: str, nullable: bool = False) -> Self: ...
    def decode(self, text: str) -> Any:
        """Returns the value of a JSON text."""
    def check(self, text: str, what: str) -> None:
        """Validates an outgoing JSON text completely. Raises `EncodeError`, whose message starts with `what`,
        if the text does not fit."""

@final
class EventTable:
    """Classes of the declared events, and one class for undeclared events."""

    def __new__(cls, classes: dict[str, type[Record]], unknown: type[Record]) -> Self: ...
    def decode(self, dialect: str, line: str) -> Any:
        """Returns the event in a line of an agent. The line may lack the envelope of the dialect. Raises
        `DecodeError` if the line is not an event."""

@final
class Mailbox:
    """Mailbox of one event loop. The native core posts the token of each completed operation to it."""

    def __new__(cls) -> Self: ...
    def fileno(self) -> int:
        """Returns the descriptor that becomes readable when tokens arrive."""
    @property
    def inherited(self) -> bool:
        """`True` in a forked child of the process that created the mailbox."""
    def drain(self) -> list[int]:
        """Removes and returns all tokens."""

@final
class Operation:
    """Running operation of the native core, such as a call. Dropping the object cancels the operation."""

    def wait(self, seconds: float | None = None) -> bool:
        """Blocks until the operation is done, at most `seconds`. Returns `False` if the time has passed first."""
    def take(self, decoder: Decoder | None = None) -> Any:
        """Returns the result of the operation, once. Raises the error of a failed operation."""
    @property
    def done(self) -> bool:
        """`True` if the operation is done."""
    def cancel(self) -> None:
        """Cancels the operation."""

@final
class Stream:
    """Events of one run or of a connection."""

    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def fill(self) -> bool | None:
        """Looks for events without waiting. Returns `True` if events are available, `None` if none has arrived
        yet, and `False` at the end of the stream. A failed stream first raises its error, once."""
    def take(self, most: int | None = None) -> list[Any]:
        """Removes and returns the events that `fill` has found; with `most`, at most that number."""
    def batch(self, seconds: float | None = None) -> list[Any] | None:
        """Blocks until events arrive, and returns them. Returns an empty list at the end of the stream, and
        `None` if no event arrives within `seconds`."""
    def skip(self) -> bool:
        """Drops the events that have arrived. Returns `True` if the stream has ended."""
    def wait_end(self, seconds: float | None = None) -> bool:
        """Drops events until the stream has ended. Returns `True` then, and `False` if `seconds` pass first."""
    def outcome(self) -> tuple[Any, Any, bool, bool, Any] | None:
        """Returns the result of a run as a tuple: cause of the end, last event, `True` if the end is confirmed,
        `True` if aborted, failure. Returns `None` before the end. Raises the error of a run that did not end
        by itself."""

@final
class Question:
    """Question or notice of the agent."""

    @property
    def method(self) -> str:
        """Wire name of the method."""
    def record(self, class_: type[Record], /) -> Any:
        """Returns the parameters as an instance of the class."""
    def withdrawn(self, timeout: float | None = 0.0) -> bool:
        """Waits up to `timeout` seconds for a withdrawal. Returns `True` if the agent has withdrawn the
        question, or the connection has ended."""
    def answer(self, members: str | None = None) -> None:
        """Answers the question with the members of a JSON object. With `None`, the declared policy answers.
        Only the first answer is sent."""
    def fail(self, reason: str) -> None:
        """Reports that the handler failed. The declared policy then answers."""

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
        """Connects to an agent through an `AgentTransport`, which can be used only once."""
    @property
    def inherited(self) -> bool:
        """`True` in a forked child of the process that created the connection. The child cannot use the
        connection."""
    @property
    def dialect(self) -> str:
        """Dialect of the client, as `NAME@REVISION`."""
    @property
    def process_id(self) -> int | None:
        """Id of the agent's process, if this process started it."""
    @property
    def revision(self) -> str | None:
        """Revision of the agent as `NAME@REVISION`, if known."""
    @property
    def dropped_events(self) -> int:
        """Number of events that were dropped because no subscriber existed."""
    @property
    def termination(self) -> Any:
        """Termination of the connection; `None` while the connection is open."""
    def diagnostics(self) -> list[tuple[str, str]]:
        """Returns the latest irregularities, each as its kind and a text."""
    def call(
        self, command: str, members: str, timeout: float | bool | None = None, token: int | None = None
    ) -> Operation:
        """Sends a command. `members` is the JSON object of its parameters."""
    def start(
        self,
        command: str,
        members: str,
        timeout: float | bool | None = None,
        events_token: int | None = None,
        answer_token: int | None = None,
        limits: tuple[int | None, float | None, float | None, int | None] | None = None,
    ) -> tuple[Stream, Operation]:
        """Sends a command that starts a run. Returns the stream of its events, and the operation that ends with
        the response.
        """
    def events(self, token: int | None = None) -> Stream:
        """Subscribes to all events from now on."""
    def send_raw(self, line: str) -> None:
        """Sends a line unchanged."""
    def close(self, token: int | None = None) -> Operation:
        """Shuts the agent down and returns the termination."""
    def terminated(self, token: int | None = None) -> Operation:
        """Returns an operation that ends with the connection; its result is the termination."""
    def next_question(self) -> Question | None:
        """Blocks until the agent asks a question, and returns it. Returns `None` when the connection has ended."""
    def next_frames(self) -> list[tuple[Any, str]] | None:
        """Blocks until frames of either direction arrive, and returns them. Returns `None` when the connection
        has ended."""
    def frames(self) -> list[tuple[Any, str]]:
        """Removes and returns the stored frames of both directions, with keys redacted."""
    def wait_watched(self) -> bool:
        """Blocks until `watched` has frames. Returns `False` if the connection has ended, or stores no such
        frames.
        """
    def watched(self) -> list[tuple[Any, str]]:
        """Removes and returns the stored frames of both directions, complete and without redaction."""
    def stop_frames(self) -> None:
        """Stops storing frames."""
    @property
    def dropped_frames(self) -> int:
        """Number of frames that were dropped because the observer was too slow."""
    def questions(self) -> list[Question]:
        """Removes and returns the open questions that have arrived."""

@final
class AgentTransport:
    """Agent that no client uses yet. Dropping the object ends the agent."""

    @staticmethod
    def spawn(
        program: dict[str, Any], wants: dict[str, bool], mailbox: Mailbox | None = None, frames: int | None = None
    ) -> AgentTransport:
        """Starts a program."""
    @staticmethod
    def connect(socket: int, mailbox: Mailbox | None = None, frames: int | None = None) -> AgentTransport:
        """Uses a connected Unix socket."""
    def detect(self, within: float, token: int | None = None) -> Operation:
        """Detects the dialect of the agent within `within` seconds. The result of the operation is the
        dialect's name."""

@final
class Framer:
    """Framer that splits bytes into lines. Only LF ends a line, and one CR before it is dropped."""

    def __new__(cls, *, max_line: int = ..., keep_bom: bool = False) -> Self: ...
    def push(self, chunk: bytes) -> list[tuple[str | None, tuple[str, int, int] | None]]:
        """Consumes the next bytes of the stream. Returns each line that they complete: its text, or the error
        of a line that could not be read."""
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
        """Removes and returns the commands that have arrived. The flag is `True` if the handlers must stop
        their work."""

@final
class ServerCall:
    """Command in progress."""

    @property
    def command(self) -> str:
        """Wire name of the command."""
    def params(self, class_: type[Record], /) -> Any:
        """Returns the parameters as an instance of the class."""
    def answer(self, data: str | None = None) -> None:
        """Sends the response now; the handler can continue its work. Raises `EncodeError` if the data does not
        fit its declaration."""
    def finish(self, data: str | None = None) -> None:
        """Ends the command after its handler has returned. Sends the response, unless it was already sent."""
    def reject(self, message: str, code: int | None = None, data: str | None = None) -> None:
        """Rejects the command."""
    def emit(self, body: str, mailbox: Mailbox, token: int) -> Operation:
        """Sends an event. The operation ends when the output has room for more. Raises `EncodeError` if the
        event does not fit its declaration."""
    def ask(self, method: str, params: str, timeout: float | None, mailbox: Mailbox, token: int) -> Operation:
        """Sends a question or a notice. The result of the operation is the members of the answer."""

def commands(dialect: str) -> list[str]:
    """Returns the wire names of the commands of a dialect, given as `NAME` or `NAME@REVISION`. Without a
    revision, the commands of all revisions are returned."""

def facts(dialect: str) -> tuple[bool, tuple[str, str] | None, str | None]:
    """Returns three facts about a dialect. First, `True` if its framing is JSON-RPC. Second, the barrier
    command, with the member of its response that is `True` during a run. Third, the `type` of frames that
    answer dialogs."""

def shut_down(seconds: float) -> None:
    """Ends all agents and waits for them. Agents that still run after `seconds` are killed."""

def hold_threads() -> None:
    """Stops the other threads in native code, so that the interpreter can shut down. Each thread waits there
    for at most a second."""

def forked() -> None:
    """Marks this process as a forked child."""

def plain_class(name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
    """Creates a subclass of `Record`. Can be used as the metaclass of a `class` statement with the single base
    `Record`."""
