"""The native core; not part of the public interface."""

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
    "Opening",
    "Pending",
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
    """Events that an `async for` takes one by one."""

    def __new__(cls, *_args: Any, **_options: Any) -> Self: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[Any]: ...
    def _read(self, stream: Stream) -> None:
        """Says where the events are."""

@disjoint_base
class Record:
    """A JSON object whose members are decoded when they are read. It does not change."""

    def __new__(cls, **members: Any) -> Self:
        """Makes a record from its members, by keyword."""
    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads an object from its JSON text. Only its structure is checked now."""
    @classmethod
    def _checked(cls, text: str) -> Self:
        """Reads an object from its JSON text and checks everything in it; fails with `EncodeError`."""
    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        """How pydantic reads and writes this class."""
    @classmethod
    def from_dict(cls, members: Any) -> Self:
        """Makes a record from members with their wire names."""
    @property
    def raw(self) -> str:
        """The JSON text, as it came."""
    def to_dict(self) -> Any:
        """Everything, decoded, members that are not declared among it."""
    def __setattr__(self, name: str, value: Any, /) -> None: ...
    def __delattr__(self, name: str, /) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, tuple[str]]: ...

@final
class Member:
    """A member of a record, decoded when it is read."""

    def __new__(
        cls, name: str, kind: str, doc: str = "", required: bool = True, nullable: bool = False
    ) -> Self: ...
    @property
    def name(self) -> str:
        """The name on the wire."""
    @property
    def required(self) -> bool:
        """Whether it is always there."""
    @property
    def nullable(self) -> bool:
        """Whether it may be null."""
    def __get__(self, record: Any, owner: Any = None, /) -> Any: ...
    def __set__(self, record: Any, value: Any, /) -> None: ...

@final
class Decoder:
    """Decodes values of one kind."""

    def __new__(cls, kind: str, nullable: bool = False) -> Self: ...
    def decode(self, text: str) -> Any:
        """The value of a JSON text."""
    def check(self, text: str, what: str) -> None:
        """Checks a JSON text that is to be sent, and everything in it; `what` stands first in the error."""

@final
class EventTable:
    """The class of each event, and that of all others."""

    def __new__(cls, classes: dict[str, type[Record]], unknown: type[Record]) -> Self: ...
    def decode(self, dialect: str, line: str) -> Any:
        """The event that a line of an agent carries, with or without the envelope of its dialect."""

@final
class Mailbox:
    """Tickets of what has become ready, for one event loop."""

    def __new__(cls) -> Self: ...
    def fileno(self) -> int:
        """The descriptor that is readable while tickets lie here."""
    @property
    def inherited(self) -> bool:
        """Whether this process inherited it by a fork."""
    def drain(self) -> list[int]:
        """Takes all tickets."""

@final
class Pending:
    """Something that the runtime is doing. Dropping it gives it up."""

    def wait(self, seconds: float | None = None) -> bool:
        """Blocks until it is done, at most `seconds`. Says whether it is."""
    def take(self, decoder: Decoder | None = None) -> Any:
        """Takes what came of it. Raises where it failed."""
    @property
    def done(self) -> bool:
        """Whether it is done."""
    def cancel(self) -> None:
        """Gives it up."""

@final
class Stream:
    """Events, from where they are queued."""

    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def fill(self) -> bool | None:
        """Looks for events: true where some are there, false at the end, nothing where none has come yet. Raises how the
        stream failed, once."""
    def take(self, most: int | None = None) -> list[Any]:
        """Takes the events that were found by `fill`, at most that many."""
    def batch(self, seconds: float | None = None) -> list[Any] | None:
        """The next events, blocking: an empty list at the end, nothing where none has come after `seconds`."""
    def skip(self) -> bool:
        """Drops the events that are there. Says whether the end is reached."""
    def wait_end(self, seconds: float | None = None) -> bool:
        """Drops events until the end. Says whether the end is reached."""
    def outcome(self) -> tuple[Any, Any, bool, bool, Any] | None:
        """What ended the run, its last event, and whether it is certain that nothing follows; raises how it failed. Nothing before the end."""

@final
class Question:
    """A question or notice of the agent."""

    @property
    def method(self) -> str:
        """The method on the wire."""
    def record(self, class_: type[Record], /) -> Any:
        """The parameters as an instance of that class."""
    def withdrawn(self, timeout: float | None = 0.0) -> bool:
        """Whether the agent has taken it back, or the connection is over; waits for that so many seconds."""
    def answer(self, members: str | None = None) -> None:
        """Answers with the members of a JSON object; nothing leaves it to the declared policy."""
    def fail(self, reason: str) -> None:
        """Says that the handler has failed, and how; the declared policy answers."""

@final
class Connection:
    """A connection to an agent. Calls may come from any thread."""

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
        """Starts a program and talks to it."""
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
        """Talks over a connected Unix socket."""
    @staticmethod
    def over(
        opening: Opening,
        dialect: str,
        options: dict[str, Any],
        table: EventTable,
        mailbox: Mailbox | None = None,
        dialogs: int | None = None,
        watched: int | None = None,
    ) -> Connection:
        """Talks to an agent that was opened before."""
    @property
    def inherited(self) -> bool:
        """Whether this process inherited it by a fork, and cannot use it."""
    @property
    def dialect(self) -> str:
        """`NAME@REVISION`."""
    @property
    def process_id(self) -> int | None:
        """The id of the agent's process, where it was started here."""
    @property
    def revision(self) -> str | None:
        """The revision that the agent speaks, where it is known: `NAME@REVISION`."""
    @property
    def dropped_events(self) -> int:
        """How many events were dropped because there was no subscriber."""
    @property
    def termination(self) -> Any:
        """How the connection ended, where it has."""
    def diagnostics(self) -> list[tuple[str, str]]:
        """The newest odd inputs, as kinds and texts."""
    def call(
        self, command: str, members: str, timeout: float | bool | None = None, ticket: int | None = None
    ) -> Pending:
        """Sends a command with its members as JSON."""
    def start(
        self,
        command: str,
        members: str,
        timeout: float | bool | None = None,
        events_ticket: int | None = None,
        answer_ticket: int | None = None,
        limits: tuple[int | None, float | None, float | None, int | None] | None = None,
    ) -> tuple[Stream, Pending]:
        """Sends a command that starts a run: its events, and the answer that accepts it."""
    def events(self, ticket: int | None = None) -> Stream:
        """Listens to all events from now on."""
    def send_raw(self, line: str) -> None:
        """Sends a line as it is."""
    def close(self, ticket: int | None = None) -> Pending:
        """Shuts the agent down and returns how it ended."""
    def terminated(self, ticket: int | None = None) -> Pending:
        """Waits for the end, whoever brings it about."""
    def next_question(self) -> Question | None:
        """The next question, blocking; nothing at the end."""
    def next_frames(self) -> list[tuple[Any, str]] | None:
        """The next frames that passed, blocking; nothing at the end."""
    def frames(self) -> list[tuple[Any, str]]:
        """The frames that passed and are there."""
    def wait_watched(self) -> bool:
        """Waits until `watched` has frames, blocking. False at the end, and where none are kept."""
    def watched(self) -> list[tuple[Any, str]]:
        """The whole frames that passed and are there, with nothing taken out."""
    def stop_frames(self) -> None:
        """Keeps no more frames."""
    @property
    def dropped_frames(self) -> int:
        """How many frames nobody will see."""
    def questions(self) -> list[Question]:
        """The questions that are there."""

@final
class Opening:
    """An agent that nobody talks to yet. Dropping it ends the agent."""

    @staticmethod
    def spawn(
        program: dict[str, Any], wants: dict[str, bool], mailbox: Mailbox | None = None, frames: int | None = None
    ) -> Opening:
        """Starts a program."""
    @staticmethod
    def connect(socket: int, mailbox: Mailbox | None = None, frames: int | None = None) -> Opening:
        """Uses a connected Unix socket."""
    def detect(self, within: float, ticket: int | None = None) -> Pending:
        """Finds out which dialect is spoken; what comes of it is the dialect's name."""

@final
class Framer:
    """Cuts bytes into lines. Only LF ends a line, and one CR before it is dropped."""

    def __new__(cls, *, max_line: int = ..., keep_bom: bool = False) -> Self: ...
    def push(self, chunk: bytes) -> list[tuple[str | None, tuple[str, int, int] | None]]:
        """Takes the next bytes and gives the lines that end in them."""
    def finish(self) -> list[tuple[str | None, tuple[str, int, int] | None]]:
        """The last line, where the stream ended inside one."""

@final
class Server:
    """One client that is being served."""

    @staticmethod
    def start(
        dialect: str, mailbox: Mailbox, calls: int, ended: int, socket: int | None = None
    ) -> tuple[Server, Pending]:
        """Serves this process's stdin and stdout, or a connected Unix socket."""
    def calls(self) -> tuple[list[ServerCall], bool]:
        """The commands that are there, and whether running work is to be stopped."""

@final
class ServerCall:
    """One command that is being carried out."""

    @property
    def command(self) -> str:
        """The command's wire name."""
    def params(self, class_: type[Record], /) -> Any:
        """The parameters as an instance of that class."""
    def answer(self, data: str | None = None) -> None:
        """Answers now, before the handler is done. Raises where the data does not fit."""
    def finish(self, data: str | None = None) -> None:
        """The handler is done."""
    def refuse(self, message: str, code: int | None = None, data: str | None = None) -> None:
        """The handler refuses."""
    def emit(self, body: str, mailbox: Mailbox, ticket: int) -> Pending:
        """Sends an event; done when there is room for more. Raises where it does not fit."""
    def ask(self, method: str, params: str, timeout: float | None, mailbox: Mailbox, ticket: int) -> Pending:
        """Asks a question, or sends a notice; done with the answer's members."""

def commands(dialect: str) -> list[str]:
    """The wire names of the commands of a dialect, `NAME` or `NAME@REVISION`; of all its revisions where none is named."""

def facts(dialect: str) -> tuple[bool, tuple[str, str] | None, str | None]:
    """Of a dialect: whether it is JSON-RPC; the command that proves that a run is over, with the member of its answer
    that is true while one goes on; the `type` of answers to dialogs."""

def shut_down(seconds: float) -> None:
    """Ends all agents and waits for them, at most `seconds`."""

def hold_threads() -> None:
    """Lets other threads stay in native code while the interpreter goes, a second at most."""

def forked() -> None:
    """Says that this process is a child that was forked off."""

def plain_class(name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
    """Makes a class, as the metaclass of a `class` statement whose one base is `Record`."""
