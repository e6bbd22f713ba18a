"""What happens, in a form that no dialect has."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentese.view.conversation import Block, Context, Json, Message, Notice, OpenQuestion, Record, Retry, Usage, Waiting, camel


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged(Record):
    """What the agent is doing, and why the last run failed. `idle` may be followed by work again (a retry, a compaction, a
    queued prompt): a run knows when it is over."""

    type: Literal["state"] = "state"
    state: Literal["idle", "working", "retrying", "compacting", "aborting"]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageBegan(Record):
    """A message has begun."""

    type: Literal["messageBegan"] = "messageBegan"
    message: str
    """Its key, as in all events."""
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextGrew(Record):
    """A block of the model's text has more. Messages of others come whole, when they end."""

    type: Literal["textGrew"] = "textGrew"
    message: str
    block: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingGrew(Record):
    """A block of the model's reasoning has more."""

    type: Literal["thinkingGrew"] = "thinkingGrew"
    message: str
    block: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentsGrew(Record):
    """A call is being written: what was added to its JSON text, or the arguments as far as they can be read."""

    type: Literal["argumentsGrew"] = "argumentsGrew"
    message: str
    block: int
    call_id: str
    name: str
    text: str | None = None
    arguments: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChanged(Record):
    """A block stands otherwise than before, or is of another kind."""

    type: Literal["blockChanged"] = "blockChanged"
    message: str
    block: int
    value: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEnded(Record):
    """A message is complete, with usage, stop reason and error where it has them."""

    type: Literal["messageEnded"] = "messageEnded"
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageGone(Record):
    """A message is no longer in the model's context."""

    type: Literal["messageGone"] = "messageGone"
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(Record):
    """A tool has started."""

    type: Literal["toolStarted"] = "toolStarted"
    call_id: str
    name: str
    arguments: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUpdated(Record):
    """What a tool has shown so far, all of it."""

    type: Literal["toolUpdated"] = "toolUpdated"
    call_id: str
    output: tuple[Block, ...]
    details: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded(Record):
    """A tool has ended."""

    type: Literal["toolEnded"] = "toolEnded"
    call_id: str
    name: str
    state: Literal["done", "failed", "skipped"]
    result: tuple[Block, ...] = ()
    details: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced(Record):
    """The conversation was told anew: another session, or its history. What was said before counts no more."""

    type: Literal["replaced"] = "replaced"
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue(Record):
    """What waits to enter the conversation, all of it."""

    type: Literal["queue"] = "queue"
    waiting: tuple[Waiting, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Record):
    """A question is open."""

    type: Literal["asked"] = "asked"
    question: OpenQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Record):
    """The question with that key was answered, taken back, or its time is up."""

    type: Literal["answered"] = "answered"
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeCame(Record):
    """Something for the user to know."""

    type: Literal["notice"] = "notice"
    notice: Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryBegan(Record):
    """A request to the model failed and is made again."""

    type: Literal["retryBegan"] = "retryBegan"
    retry: Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryEnded(Record):
    """The request was made again, or given up."""

    type: Literal["retryEnded"] = "retryEnded"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionBegan(Record):
    """A compaction has begun."""

    type: Literal["compactionBegan"] = "compactionBegan"
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEnded(Record):
    """A compaction has ended; the summary is a message before this."""

    type: Literal["compactionEnded"] = "compactionEnded"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageChanged(Record):
    """What the session has used so far, and how full the model's context is."""

    type: Literal["usage"] = "usage"
    usage: Usage
    context: Context | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed(Record):
    """Other members of the conversation have changed: look there."""

    type: Literal["changed"] = "changed"
    members: tuple[str, ...]
    """The names of the attributes."""

    def to_json(self) -> dict[str, Json]:
        """As JSON; members have the names that they have there."""
        return {"type": self.type, "members": [camel(name) for name in self.members]}


Event: TypeAlias = (
    StateChanged
    | MessageBegan
    | TextGrew
    | ThinkingGrew
    | ArgumentsGrew
    | BlockChanged
    | MessageEnded
    | MessageGone
    | ToolStarted
    | ToolUpdated
    | ToolEnded
    | Replaced
    | Queue
    | Asked
    | Answered
    | NoticeCame
    | RetryBegan
    | RetryEnded
    | CompactionBegan
    | CompactionEnded
    | UsageChanged
    | Changed
)
"""One difference between the conversation before a frame and after it; messages are named by their keys."""
