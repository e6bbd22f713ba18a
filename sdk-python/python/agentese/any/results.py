"""Parameters and results of the neutral commands."""

from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypedDict

from agentese.errors import RunFailedError
from agentese.run import RunResult as Ended
from agentese.view.conversation import Context, Json, Message, Model, Session, Usage, ViewRecord


class Image(TypedDict):
    """Image in user input."""

    mimeType: str
    data: str
    """Bytes of the image in base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(ViewRecord):
    """Question of the agent."""

    method: str = ""
    """Wire name of the dialog."""
    kind: Literal["select", "confirm", "input", "editor"]
    title: str = ""
    text: str | None = None
    options: tuple[str, ...] | None = None
    placeholder: str | None = None
    prefill: str | None = None
    secret: bool | None = None
    timeout_ms: float | None = None
    """Time in milliseconds after which the agent continues without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State(ViewRecord):
    """Activity and settings of an agent, as far as its dialect provides them."""

    model: Model | None = None
    thinking_level: str | None = None
    working: bool | None = None
    compacting: bool | None = None
    messages: int | None = None
    """Number of messages in the conversation."""
    waiting: int | None = None
    """Number of queued inputs."""
    session: Session | None = None
    settings: dict[str, Json] = field(default_factory=dict[str, Json])
    usage: Usage | None = None
    context: Context | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(ViewRecord):
    """Tokens and cost of a session."""

    usage: Usage | None = None
    messages: int | None = None
    """Number of messages in the session."""
    context: Context | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearedQueue(ViewRecord):
    """Former content of the queues."""

    steering: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession(ViewRecord):
    """Stored session."""

    session: str
    """Path or id for `open_session`."""
    name: str | None = None
    modified: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkResult(ViewRecord):
    """Result of a fork."""

    cancelled: bool = False
    """`True` if an extension of the agent prevented the fork."""
    text: str | None = None
    """Text of the user message before which the session was forked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellResult(ViewRecord):
    """Result of a shell command of the user."""

    output: str = ""
    exit_code: int | None = None
    """`None` if the command was stopped."""
    cancelled: bool = False
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of a run."""

    ended_by: Literal["event", "answer", "handled", "stopped", "idle"]
    """Cause of the end. `event`: the last event. `answer`: the response to the command. `handled`: a prompt
    without a run. `stopped`: an acknowledged abort without another end. `idle`: the agent is idle, and an
    unreadable line may have held the last event."""
    confirmed: bool
    """`True` if it is certain that no further event follows."""
    message: Message | None
    """Last message of the model, with usage, stop reason and error if present."""
    aborted: bool = False
    """`True` if the run was aborted, by any client. An abort is not a failure."""
    failure: RunFailedError | None = None
    """Reason of a failed run; only results of `wait` can have one."""

    @classmethod
    def of(cls, ended: Ended[Any], message: Message | None) -> Self:
        """Returns the result of a run of the typed client, with the last message of the model."""
        return cls(ended.ended_by, ended.confirmed, message, ended.aborted, ended.failure)

    @property
    def text(self) -> str:
        """Text of the last message; empty without a message."""
        return "" if self.message is None else self.message.text
