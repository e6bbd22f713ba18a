"""Events that are independent of the dialect."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentese.view.conversation import (
    Block,
    Context,
    Json,
    Message,
    Notice,
    OpenQuestion,
    PendingInput,
    Retry,
    Usage,
    ViewRecord,
    camel,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged(ViewRecord):
    """Activity of the agent, and reason for the failure of the last run. After `idle`, work may resume (a
    retry, a compaction, a queued prompt). A run detects its own end."""

    type: Literal["state"] = "state"
    state: Literal["idle", "working", "retrying", "compacting", "aborting"]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStarted(ViewRecord):
    """A message started."""

    type: Literal["messageBegan"] = "messageBegan"
    message: str
    """Key of the message, as in all events."""
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextGrew(ViewRecord):
    """A text block of the model grew. Messages of other roles arrive whole, at their end."""

    type: Literal["textGrew"] = "textGrew"
    message: str
    block: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingGrew(ViewRecord):
    """A reasoning block of the model grew."""

    type: Literal["thinkingGrew"] = "thinkingGrew"
    message: str
    block: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentsGrew(ViewRecord):
    """The arguments of a tool call grew: new JSON text, or the arguments that can be parsed so far."""

    type: Literal["argumentsGrew"] = "argumentsGrew"
    message: str
    block: int
    call_id: str
    name: str
    text: str | None = None
    arguments: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChanged(ViewRecord):
    """The content or type of a block changed."""

    type: Literal["blockChanged"] = "blockChanged"
    message: str
    block: int
    value: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEnded(ViewRecord):
    """A message ended, with usage, stop reason and error if present."""

    type: Literal["messageEnded"] = "messageEnded"
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageGone(ViewRecord):
    """A message is no longer in the model's context."""

    type: Literal["messageGone"] = "messageGone"
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(ViewRecord):
    """A tool started."""

    type: Literal["toolStarted"] = "toolStarted"
    call_id: str
    name: str
    arguments: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUpdated(ViewRecord):
    """Complete output of a tool so far."""

    type: Literal["toolUpdated"] = "toolUpdated"
    call_id: str
    output: tuple[Block, ...]
    details: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded(ViewRecord):
    """A tool ended."""

    type: Literal["toolEnded"] = "toolEnded"
    call_id: str
    name: str
    state: Literal["done", "failed", "skipped"]
    result: tuple[Block, ...] = ()
    details: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationReplaced(ViewRecord):
    """The conversation was replaced by another session or by its history. Earlier messages no longer apply.
    """

    type: Literal["replaced"] = "replaced"
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanged(ViewRecord):
    """All user input that waits to enter the conversation."""

    type: Literal["queue"] = "queue"
    waiting: tuple[PendingInput, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOpened(ViewRecord):
    """A question was opened."""

    type: Literal["asked"] = "asked"
    question: OpenQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionClosed(ViewRecord):
    """The question with that key was answered, withdrawn, or has timed out."""

    type: Literal["answered"] = "answered"
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeAdded(ViewRecord):
    """Notice for the user."""

    type: Literal["notice"] = "notice"
    notice: Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryStarted(ViewRecord):
    """A model request failed and is retried."""

    type: Literal["retryBegan"] = "retryBegan"
    retry: Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryEnded(ViewRecord):
    """A retry started, or was abandoned."""

    type: Literal["retryEnded"] = "retryEnded"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStarted(ViewRecord):
    """A compaction started."""

    type: Literal["compactionBegan"] = "compactionBegan"
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEnded(ViewRecord):
    """A compaction ended. A preceding message holds the summary."""

    type: Literal["compactionEnded"] = "compactionEnded"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageChanged(ViewRecord):
    """Usage of the session so far, and the fill level of the model's context."""

    type: Literal["usage"] = "usage"
    usage: Usage
    context: Context | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersChanged(ViewRecord):
    """Names of other members of the conversation that changed."""

    type: Literal["changed"] = "changed"
    members: tuple[str, ...]
    """Names of the attributes."""

    def to_json(self) -> dict[str, Json]:
        """Returns the event as JSON, with the JSON names of the members."""
        return {"type": self.type, "members": [camel(name) for name in self.members]}


Event: TypeAlias = (
    StateChanged
    | MessageStarted
    | TextGrew
    | ThinkingGrew
    | ArgumentsGrew
    | BlockChanged
    | MessageEnded
    | MessageGone
    | ToolStarted
    | ToolUpdated
    | ToolEnded
    | ConversationReplaced
    | QueueChanged
    | QuestionOpened
    | QuestionClosed
    | NoticeAdded
    | RetryStarted
    | RetryEnded
    | CompactionStarted
    | CompactionEnded
    | UsageChanged
    | MembersChanged
)
"""Difference between the conversations before and after a frame. Events name messages by their keys."""
