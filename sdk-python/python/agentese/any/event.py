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
    """The activity of the agent changed. `error` is the reason for the failure of the last run. Work can resume
    after `idle`, for example with a retry, a compaction or a queued prompt. The end of a run is the end of
    its own events."""

    type: Literal["state"] = "state"
    state: Literal["idle", "working", "retrying", "compacting", "aborting"]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStarted(ViewRecord):
    """A message of any role started."""

    type: Literal["messageBegan"] = "messageBegan"
    message: str
    """Key of the message. All events name messages by their keys."""
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextGrew(ViewRecord):
    """A text block of a model's message grew. Messages of other roles arrive complete, with `MessageEnded`."""

    type: Literal["textGrew"] = "textGrew"
    message: str
    block: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingGrew(ViewRecord):
    """A reasoning block of a model's message grew."""

    type: Literal["thinkingGrew"] = "thinkingGrew"
    message: str
    block: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentsGrew(ViewRecord):
    """The arguments of a tool call grew. The event contains the new JSON text, or the
    arguments that could be parsed so far."""

    type: Literal["argumentsGrew"] = "argumentsGrew"
    message: str
    block: int
    call_id: str
    name: str
    text: str | None = None
    arguments: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChanged(ViewRecord):
    """A block of a message changed its content or its type."""

    type: Literal["blockChanged"] = "blockChanged"
    message: str
    block: int
    value: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEnded(ViewRecord):
    """A message ended. The event contains usage, stop reason and error of the message, if present.
    """

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
    """A tool produced output. `output` is its complete output so far."""

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
    """Another session, or the history of the agent, replaced the conversation. Messages of the
    earlier conversation are no longer valid.
    """

    type: Literal["replaced"] = "replaced"
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanged(ViewRecord):
    """The queued user input changed. `waiting` is all user input that is not part of the
    conversation yet.
    """

    type: Literal["queue"] = "queue"
    waiting: tuple[PendingInput, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOpened(ViewRecord):
    """The agent opened a question for the user."""

    type: Literal["asked"] = "asked"
    question: OpenQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionClosed(ViewRecord):
    """A question was answered, was withdrawn, or reached its time limit. `question` is its key."""

    type: Literal["answered"] = "answered"
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeAdded(ViewRecord):
    """A notice for the user arrived."""

    type: Literal["notice"] = "notice"
    notice: Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryStarted(ViewRecord):
    """A model request failed, and the agent will retry it."""

    type: Literal["retryBegan"] = "retryBegan"
    retry: Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryEnded(ViewRecord):
    """The wait for a retry is over: the retry has started, or was cancelled."""

    type: Literal["retryEnded"] = "retryEnded"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStarted(ViewRecord):
    """A compaction started."""

    type: Literal["compactionBegan"] = "compactionBegan"
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEnded(ViewRecord):
    """A compaction ended. An earlier event started the message with the summary."""

    type: Literal["compactionEnded"] = "compactionEnded"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageChanged(ViewRecord):
    """Usage of the session so far, and the occupied part of the model's context window."""

    type: Literal["usage"] = "usage"
    usage: Usage
    context: Context | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersChanged(ViewRecord):
    """Other members of the conversation changed. The event contains only their names."""

    type: Literal["changed"] = "changed"
    members: tuple[str, ...]
    """Names of the changed attributes of `Conversation`."""

    def to_json(self) -> dict[str, Json]:
        """Returns the event as JSON. The names of the members are in camel case."""
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
"""One change of the conversation by a frame. Events refer to messages by their keys."""
