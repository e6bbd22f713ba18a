"""What can go wrong."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal


@dataclass(frozen=True, slots=True)
class Termination:
    """How a connection ended. All calls, runs and dialogs that were open then failed with this one value."""

    cause: Literal["exited", "end_of_stream", "closed", "io", "internal"]
    """Why it ended."""
    exit_code: int | None
    """The exit code, where the process exited."""
    signal: int | None
    """The signal, where one ended the process."""
    signal_name: str | None
    """Its name, such as `SIGKILL`."""
    stderr_tail: str
    """The last of what the process wrote to stderr."""
    last_frames: list[str]
    """The last frames that came, oldest first, the beginning of each."""
    pending: list[str]
    """The ids of the calls that had no answer."""
    text: str
    """All of it in one line."""
    closed_by_us: bool = False
    """Whether this side asked for the end: by `close`, by the end of a `with` block, by letting go of the client."""

    def __str__(self) -> str:
        return self.text


def _restore(kind: "type[AgenteseError]", args: tuple[Any, ...], fields: dict[str, Any]) -> "AgenteseError":
    return kind(*args, **fields)


class AgenteseError(Exception):
    """The base of all failures. All of them can be pickled and copied."""

    is_retryable: bool = False
    """Whether the same call may be made again on the same connection without doing anything twice: it was not sent, or
    its command changes nothing."""

    _fields: ClassVar[tuple[str, ...]] = ()
    """What the constructor takes by keyword."""

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self._fields}
        return _restore, (type(self), self.args, fields), self.__dict__


class SpawnError(AgenteseError, OSError):
    """The agent's program could not be started."""

    _fields = ("program", "kind", "errno",)

    def __init__(self, text: str, *, program: str = "", kind: str = "", errno: int | None = None) -> None:
        super().__init__(text)
        self.program = program
        """The program."""
        self.kind = kind
        """`not_found`, `not_executable`, `busy`, `working_directory` or `other`."""
        self.errno = errno
        """The number of the operating system's error."""


class RefusedError(AgenteseError):
    """The agent rejected the command. Failures that the dialect documents are subclasses: `pi.NoApiKey`."""

    kind: ClassVar[str | None] = None
    """What the dialect calls this failure, such as `no_api_key`; `None` where it does not document it."""

    _fields = ("command", "message", "code", "data", "attributed",)

    def __init__(
        self,
        text: str,
        *,
        command: str | None = None,
        message: str = "",
        code: int | None = None,
        data: Any = None,
        attributed: bool = False,
    ) -> None:
        super().__init__(text)
        self.command = command
        """The command that the answer names."""
        self.message = message
        """The reason that the agent gives."""
        self.code = code
        """The JSON-RPC code, in dialects that have codes."""
        self.data = data
        """The JSON-RPC data, where there is any."""
        self.attributed = attributed
        """True where the answer carried no id, so that it was matched to the oldest call that it can belong to."""


class RunFailedError(AgenteseError):
    """The run failed: its request to the model, after the retries that the agent makes by itself."""

    _fields = ("message", "code", "retryable")

    def __init__(self, text: str, *, message: str = "", code: str | None = None, retryable: bool = False) -> None:
        super().__init__(text)
        self.message = message
        """The reason that the agent gives."""
        self.code = code
        """The code of the failure, in dialects that tell one."""
        self.retryable = retryable
        """Whether the same prompt may succeed when it is sent again: the agent itself had tried again, or was started anew.
        `is_retryable` says the same."""
        self.is_retryable = retryable


class NotInRevisionError(AgenteseError):
    """The agent speaks a revision of its dialect that does not have the command. Nothing was sent, or the agent answered
    that it does not know the command."""

    _fields = ("command", "revision", "known",)

    def __init__(self, text: str, *, command: str = "", revision: str = "", known: str = "") -> None:
        super().__init__(text)
        self.command = command
        """The command's wire name."""
        self.revision = revision
        """The agent's revision, such as `pi@0.55`."""
        self.known = known
        """The revisions that have the command, such as `pi@1.5`."""


class OtherDialectError(AgenteseError):
    """The agent speaks another dialect than this client: a frame came that the client's dialect cannot have, before any that
    it has. The agent answers nothing that this client sends. The message names both dialects."""

    _fields = ("dialect", "seen", "frame")

    def __init__(self, text: str, *, dialect: str = "", seen: str = "", frame: str = "") -> None:
        super().__init__(text)
        self.dialect = dialect
        """The dialect of the client, such as `pi`."""
        self.seen = seen
        """The dialects that have such frames, such as `opal or acp`."""
        self.frame = frame
        """The beginning of the frame, without keys."""


class NotInDialectError(AgenteseError):
    """The agent's dialect has no command that does that, or none that takes that parameter. Nothing was sent."""

    _fields = ("intent", "dialect", "param")

    def __init__(self, text: str, *, intent: str = "", dialect: str = "", param: str | None = None) -> None:
        super().__init__(text)
        self.intent = intent
        """What was wanted, such as `export`."""
        self.dialect = dialect
        """The dialect, with its revision where that is known, such as `opal@0.1`."""
        self.param = param
        """The parameter that the dialect's command does not take, such as `hidden`; `None` where there is no such command."""


class NotRecognisedError(AgenteseError):
    """Nothing that the program says belongs to a known dialect."""


class TerminatedError(AgenteseError, ConnectionError):
    """The connection is over: the process ended, the stream ended, or this side closed it."""

    _fields = ("termination",)

    def __init__(self, text: str, *, termination: Termination) -> None:
        super().__init__(text)
        self.termination = termination
        """How it ended."""

    @property
    def exit_code(self) -> int | None:
        """The exit code, where the process exited."""
        return self.termination.exit_code

    @property
    def signal(self) -> int | None:
        """The signal, where one ended the process."""
        return self.termination.signal

    @property
    def stderr_tail(self) -> str:
        """The last of what the process wrote to stderr."""
        return self.termination.stderr_tail

    @property
    def pending(self) -> list[str]:
        """The ids of the calls that had no answer."""
        return self.termination.pending


class TimedOutError(AgenteseError, TimeoutError):
    """No answer came in time. An answer that comes later is dropped."""

    _fields = ("command", "after",)

    def __init__(self, text: str, *, command: str = "", after: float = 0.0) -> None:
        super().__init__(text)
        self.command = command
        """The command's wire name."""
        self.after = after
        """How long it was waited for, in seconds."""


class StalledError(TimedOutError):
    """No answer came in time because a subscriber does not read, or because the agent does not read its stdin."""


class DecodeError(AgenteseError, ValueError):
    """What the agent sent does not fit its declaration."""

    _fields = ("raw",)

    def __init__(self, text: str, *, raw: str = "") -> None:
        super().__init__(text)
        self.raw = raw
        """The JSON text."""


class DetachedError(AgenteseError):
    """The subscriber was cut off because its queue was full."""

    _fields = ("dropped",)

    def __init__(self, text: str, *, dropped: int = 0) -> None:
        super().__init__(text)
        self.dropped = dropped
        """How many events it did not get."""


class UsageError(AgenteseError):
    """The caller made a mistake; nothing was sent."""


class EncodeError(UsageError, ValueError):
    """A parameter, event or record does not fit its declaration; nothing was sent. The message says which member."""


class ForkedError(UsageError, RuntimeError):
    """A client was made before a fork and used in the child."""
