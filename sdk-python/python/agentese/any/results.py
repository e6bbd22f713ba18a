"""What the neutral commands take and give."""

from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypedDict

from agentese.errors import RunFailedError
from agentese.run import RunResult as Ended
from agentese.view.conversation import Context, Json, Message, Model, Record, Session, Usage


class Image(TypedDict):
    """An image that goes with words."""

    mimeType: str
    data: str
    """Base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Record):
    """A question of the agent."""

    method: str = ""
    """The dialog's wire name."""
    kind: Literal["select", "confirm", "input", "editor"]
    title: str = ""
    text: str | None = None
    options: tuple[str, ...] | None = None
    placeholder: str | None = None
    prefill: str | None = None
    secret: bool | None = None
    timeout_ms: float | None = None
    """After how many milliseconds the agent answers for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State(Record):
    """What an agent is doing, and with which settings, as far as its dialect tells."""

    model: Model | None = None
    thinking_level: str | None = None
    working: bool | None = None
    compacting: bool | None = None
    messages: int | None = None
    """How many messages the conversation has."""
    waiting: int | None = None
    """How many words wait in the queues."""
    session: Session | None = None
    settings: dict[str, Json] = field(default_factory=dict[str, Json])
    usage: Usage | None = None
    context: Context | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(Record):
    """Tokens and cost of a session."""

    usage: Usage | None = None
    messages: int | None = None
    """How many messages the session has."""
    context: Context | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearedQueue(Record):
    """What waited in the queues."""

    steering: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSession(Record):
    """A session that is kept."""

    session: str
    """What opens it."""
    name: str | None = None
    modified: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forked(Record):
    """What came of another place in the conversation."""

    cancelled: bool = False
    """True where an extension of the agent prevented it."""
    text: str | None = None
    """The words that stood there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellResult(Record):
    """What a shell command of the user did."""

    output: str = ""
    exit_code: int | None = None
    """Missing where it was stopped."""
    cancelled: bool = False
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    ended_by: Literal["event", "answer", "handled", "stopped", "idle"]
    """`event`: its last event; `answer`: the answer to its command; `handled`: the agent started no run for the words;
    `stopped`: the agent acknowledged an abort, and nothing ended the run after that; `idle`: the agent is idle, and its
    last event was not seen, because a line of the run could not be read."""
    confirmed: bool
    """Whether it is certain that nothing follows."""
    message: Message | None
    """The model's last message, with usage, stop reason and error where it has them."""
    aborted: bool = False
    """Whether somebody stopped the run, whoever it was. That is no failure."""
    failure: RunFailedError | None = None
    """How the run failed, if it did; only `wait` returns a result with a failure."""

    @classmethod
    def of(cls, ended: Ended[Any], message: Message | None) -> Self:
        """The result of a run of the dialect's client, with what the model said last."""
        return cls(ended.ended_by, ended.confirmed, message, ended.aborted, ended.failure)

    @property
    def text(self) -> str:
        """The text of that message."""
        return "" if self.message is None else self.message.text
