"""Errors of the library."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal


@dataclass(frozen=True, slots=True)
class Termination:
    """End of a connection. All calls, runs and dialogs that were open failed with this value."""

    cause: Literal["exited", "end_of_stream", "closed", "io", "internal"]
    """Cause of the end."""
    exit_code: int | None
    """Exit code, if the process exited."""
    signal: int | None
    """Signal, if a signal ended the process."""
    signal_name: str | None
    """Name of the signal, such as `SIGKILL`."""
    stderr_tail: str
    """End of the process's stderr."""
    last_frames: list[str]
    """Last received frames, oldest first. Only the beginning of a long frame is included."""
    pending: list[str]
    """Ids of the calls without a response."""
    text: str
    """Complete description in one line."""
    closed_by_us: bool = False
    """`True` if this side ended the connection: by `close`, by the end of a `with` block, or by dropping the
    client."""

    def __str__(self) -> str:
        return self.text


def _restore(kind: "type[AgenteseError]", args: tuple[Any, ...], fields: dict[str, Any]) -> "AgenteseError":
    return kind(*args, **fields)


class AgenteseError(Exception):
    """Base of all errors. All of them can be pickled and copied."""

    is_retryable: bool = False
    """`True` if a repetition of the call on this connection has no double effect: it was not sent,
    or its command changes nothing."""

    _fields: ClassVar[tuple[str, ...]] = ()
    """Names of the constructor's keyword parameters."""

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self._fields}
        return _restore, (type(self), self.args, fields), self.__dict__


class SpawnError(AgenteseError, OSError):
    """The agent's program could not be started."""

    _fields = ("program", "kind", "errno",)

    def __init__(self, text: str, *, program: str = "", kind: str = "", errno: int | None = None) -> None:
        super().__init__(text)
        self.program = program
        """Program that could not be started."""
        self.kind = kind
        """Kind of the failure: `not_found`, `not_executable`, `busy`, `working_directory` or `other`."""
        self.errno = errno
        """Error number of the operating system."""


class RefusedError(AgenteseError):
    """The agent rejected the command. Documented failures of a dialect are subclasses, such as `pi.NoApiKey`.
    """

    kind: ClassVar[str | None] = None
    """Kind of the failure in the dialect, such as `no_api_key`; `None` if the failure is undocumented."""

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
        """Rejected command."""
        self.message = message
        """Reason that the agent gives."""
        self.code = code
        """JSON-RPC code, in dialects with codes."""
        self.data = data
        """JSON-RPC data, if any."""
        self.attributed = attributed
        """`True` if the response had no id, and the client assigned it to the oldest call that it can belong
        to."""


class RunFailedError(AgenteseError):
    """The run failed, because its model request failed after all retries of the agent."""

    _fields = ("message", "code", "retryable")

    def __init__(self, text: str, *, message: str = "", code: str | None = None, retryable: bool = False) -> None:
        super().__init__(text)
        self.message = message
        """Reason that the agent gives."""
        self.code = code
        """Code of the failure, in dialects with such codes."""
        self.retryable = retryable
        """`True` if the same prompt can succeed later, because the agent had retried it, or was
        restarted. `is_retryable` has the same value."""
        self.is_retryable = retryable


class NotInRevisionError(AgenteseError):
    """The agent's revision lacks the command. Either nothing was sent, or the agent responded that the command
    is unknown."""

    _fields = ("command", "revision", "known",)

    def __init__(self, text: str, *, command: str = "", revision: str = "", known: str = "") -> None:
        super().__init__(text)
        self.command = command
        """Wire name of the command."""
        self.revision = revision
        """Revision of the agent, such as `pi@0.55`."""
        self.known = known
        """Revisions that have the command, such as `pi@1.5`."""


class OtherDialectError(AgenteseError):
    """The agent does not speak the dialect of this client: its first recognised frame belongs to
    another dialect. The agent does not respond to this client. The message names both dialects."""

    _fields = ("dialect", "seen", "frame")

    def __init__(self, text: str, *, dialect: str = "", seen: str = "", frame: str = "") -> None:
        super().__init__(text)
        self.dialect = dialect
        """Dialect of the client, such as `pi`."""
        self.seen = seen
        """Dialects that have such a frame, such as `opal or acp`."""
        self.frame = frame
        """Beginning of the frame, with keys redacted."""


class NotInDialectError(AgenteseError):
    """The agent's dialect has no command for the intent, or the command lacks a parameter. Nothing was sent."""

    _fields = ("intent", "dialect", "param")

    def __init__(self, text: str, *, intent: str = "", dialect: str = "", param: str | None = None) -> None:
        super().__init__(text)
        self.intent = intent
        """Intent, such as `export`."""
        self.dialect = dialect
        """Dialect, with its revision if known, such as `opal@0.1`."""
        self.param = param
        """Parameter that the command does not have, such as `hidden`; `None` if the dialect has no command at
        all."""


class NotRecognisedError(AgenteseError):
    """The dialect could not be detected, because no output of the program belongs to a known dialect, or the agent
    needs a bridge."""


class TerminatedError(AgenteseError, ConnectionError):
    """The connection has ended: the process ended, the stream ended, or this side closed it."""

    _fields = ("termination",)

    def __init__(self, text: str, *, termination: Termination) -> None:
        super().__init__(text)
        self.termination = termination
        """End of the connection."""

    @property
    def exit_code(self) -> int | None:
        """Exit code, if the process exited."""
        return self.termination.exit_code

    @property
    def signal(self) -> int | None:
        """Signal, if a signal ended the process."""
        return self.termination.signal

    @property
    def stderr_tail(self) -> str:
        """End of the process's stderr."""
        return self.termination.stderr_tail

    @property
    def pending(self) -> list[str]:
        """Ids of the calls without a response."""
        return self.termination.pending


class TimedOutError(AgenteseError, TimeoutError):
    """No response arrived in time. A later response is dropped."""

    _fields = ("command", "after",)

    def __init__(self, text: str, *, command: str = "", after: float = 0.0) -> None:
        super().__init__(text)
        self.command = command
        """Wire name of the command."""
        self.after = after
        """Time that the call waited, in seconds."""


class StalledError(TimedOutError):
    """No response arrived in time, for one of two reasons: a subscriber does not read its events, or the agent
    does not read its stdin."""


class DecodeError(AgenteseError, ValueError):
    """A received frame does not fit its declaration."""

    _fields = ("raw",)

    def __init__(self, text: str, *, raw: str = "") -> None:
        super().__init__(text)
        self.raw = raw
        """JSON text of the frame."""


class DetachedError(AgenteseError):
    """This subscriber lost events, because its queue was full."""

    _fields = ("dropped",)

    def __init__(self, text: str, *, dropped: int = 0) -> None:
        super().__init__(text)
        self.dropped = dropped
        """Number of lost events."""


class UsageError(AgenteseError):
    """Misuse of the API by the caller; nothing was sent."""


class EncodeError(UsageError, ValueError):
    """A parameter, event or record does not fit its declaration; nothing was sent. The message names the
    member."""


class ForkedError(UsageError, RuntimeError):
    """A child process used a client that its parent created before the fork."""
