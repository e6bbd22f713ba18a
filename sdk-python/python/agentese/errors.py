"""What can go wrong."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Termination:
    """The end of a connection: one value that settled everything that waited."""

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

    def __str__(self) -> str:
        return self.text


class AgenteseError(Exception):
    """The base of all failures."""


class SpawnError(AgenteseError, OSError):
    """The agent's program could not be started."""

    def __init__(self, text: str, *, program: str = "", kind: str = "", errno: int | None = None) -> None:
        super().__init__(text)
        self.program = program
        """The program."""
        self.kind = kind
        """`NotFound`, `NotExecutable`, `Busy`, `WorkingDirectory` or `Other`."""
        self.errno = errno
        """What the system says."""


class RefusedError(AgenteseError):
    """The agent answered that it will not or cannot."""

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
        """What the agent says."""
        self.code = code
        """The JSON-RPC code, in dialects that have codes."""
        self.data = data
        """The JSON-RPC data, where there is any."""
        self.attributed = attributed
        """True where the answer carried no id and was given to the oldest call that it can belong to."""


class TerminatedError(AgenteseError, ConnectionError):
    """The connection is over: the process ended, the stream ended, or this side closed it."""

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

    def __init__(self, text: str, *, command: str = "", after: float = 0.0) -> None:
        super().__init__(text)
        self.command = command
        """The command's wire name."""
        self.after = after
        """How long it was waited for, in seconds."""


class StalledError(TimedOutError):
    """No answer came in time because the reader waits for a subscriber that does not read."""


class DecodeError(AgenteseError, ValueError):
    """Something does not fit its declaration."""

    def __init__(self, text: str, *, raw: str = "") -> None:
        super().__init__(text)
        self.raw = raw
        """The JSON text."""


class DetachedError(AgenteseError):
    """The subscriber was cut off because its queue was full."""

    def __init__(self, text: str, *, dropped: int = 0) -> None:
        super().__init__(text)
        self.dropped = dropped
        """How many events it did not get."""


class UsageError(AgenteseError):
    """A mistake of the caller."""


class ForkedError(UsageError, RuntimeError):
    """A client was made before a fork and used in the child."""
