"""Conversation between an agent and its user, independent of the dialect, and immutable."""

import dataclasses
import typing
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Self

Json = Any
"""JSON value: `None`, booleans, numbers, strings, lists, dicts."""


def camel(name: str) -> str:
    """Returns the JSON name of a member."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRecord:
    """Part of a conversation. Its JSON form is the same in every language."""

    @classmethod
    def of(cls, members: dict[str, Json]) -> Self:
        """Creates the record from its JSON form. Unknown members, and values of another type, are skipped.

        Raises `ValueError` if a required member is missing.
        """
        kind: type = cls
        fields = _fields(kind)
        known = {name: value for name, value in members.items() if name in fields and value is not None}
        read = ((fields[name][0], _read(fields[name][1], value)) for name, value in known.items())
        values = {name: value for name, value in read if value is not _UNFIT}
        for field in dataclasses.fields(kind):
            if field.name not in values and field.default is field.default_factory is dataclasses.MISSING:
                raise ValueError(f"a {cls.__name__} needs {camel(field.name)}")
        return cls(**values)

    def to_json(self) -> dict[str, Json]:
        """Returns the JSON form, without members that have no value."""
        members = ((camel(field.name), getattr(self, field.name)) for field in dataclasses.fields(self))
        return {name: _write(value) for name, value in members if value is not None}


@cache
def _fields(cls: type[ViewRecord]) -> dict[str, tuple[str, Any]]:
    hints = typing.get_type_hints(cls)
    return {camel(field.name): (field.name, hints[field.name]) for field in dataclasses.fields(cls)}


_UNFIT: Any = object()
"""Result for a value of another type than its member."""


def _read(hint: Any, value: Json) -> Any:
    """Converts a JSON value to the type of a member, or to `_UNFIT`. Unfit items of a list are skipped."""
    origin, options = typing.get_origin(hint), [option for option in typing.get_args(hint) if option is not type(None)]
    if origin is Literal:
        return value if isinstance(value, str) and value in options else _UNFIT
    if origin is tuple:
        items = [_read(options[0], item) for item in value] if isinstance(value, list) else _UNFIT
        return items if items is _UNFIT else tuple(item for item in items if item is not _UNFIT)
    if origin is dict:
        return {name: _read(options[1], item) for name, item in value.items()} if isinstance(value, dict) else _UNFIT
    if type(None) in typing.get_args(hint) and len(options) == 1:
        return _read(options[0], value)
    if isinstance(hint, type) and issubclass(hint, ViewRecord):
        return _record(hint, value)
    return value if _fits(hint, value) else _UNFIT


def _record(kind: type[ViewRecord], value: Json) -> Any:
    try:
        return kind.of(value) if isinstance(value, dict) else _UNFIT
    except ValueError:
        return _UNFIT


def _fits(hint: Any, value: Json) -> bool:
    if hint is bool or hint is str:
        return isinstance(value, hint)
    return hint not in (int, float) or (isinstance(value, int | float) and not isinstance(value, bool))


def member(record: ViewRecord, name: str, value: Json) -> Json:
    """Returns the value in the type of the named member; `None` if the type does not fit."""
    kind: type = type(record)
    read = None if value is None else _read(_fields(kind)[name][1], value)
    return None if read is _UNFIT else read


def _write(value: Any) -> Json:
    if isinstance(value, ViewRecord):
        return value.to_json()
    if isinstance(value, tuple | list):
        return [_write(item) for item in value]
    if isinstance(value, dict):
        return {name: _write(item) for name, item in value.items()}
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage(ViewRecord):
    """Tokens, and the cost in US dollars."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    total: int | None = None
    cost: float | None = None
    costs: Json = None
    """Parts of the cost of one message, in the form of the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(ViewRecord):
    """Part of a message. The set of its members depends on `type`."""

    type: Literal["text", "thinking", "image", "data", "tool"]
    text: str | None = None
    """Text of a block of text or reasoning."""
    redacted: bool | None = None
    """`True` if a block of reasoning is unreadable."""
    signature: str | None = None
    """Opaque value that the provider requires with reasoning and tool calls."""
    mime_type: str | None = None
    """Media type of an image."""
    data: str | None = None
    """Bytes of an image in base64."""
    value: Json = None
    """Value of a block of other data."""
    call_id: str | None = None
    """Id of a tool call. The members below are for tool calls, too."""
    name: str | None = None
    arguments: Json = None
    """Arguments, complete or as far as the agent could parse them."""
    arguments_text: str | None = None
    """JSON text of the arguments so far, if the agent sends pieces only."""
    state: Literal["coming", "running", "done", "failed", "skipped"] | None = None
    output: "tuple[Block, ...] | None" = None
    """Output of the tool so far."""
    result: "tuple[Block, ...] | None" = None
    details: Json = None
    """Details for a front end, in a tool-specific form."""
    duration_ms: float | None = None
    label: str | None = None
    """Description for people, in one line."""
    child: "Conversation | None" = None
    """Conversation of a subagent that the tool started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(ViewRecord):
    """Message of the conversation."""

    key: str = ""
    """Stable name for rendering."""
    id: str | None = None
    """Id that the agent assigned, if any."""
    role: str = "note"
    """`user`, `assistant`, `tool`, `system`, `summary`, `shell` or `note`."""
    kind: str | None = None
    """Original role of the dialect, if `role` is coarser."""
    state: Literal["growing", "done", "failed", "aborted"] = "done"
    blocks: tuple[Block, ...] = ()
    model: str | None = None
    provider: str | None = None
    api: str | None = None
    """Wire format of the model's API, as the agent names it."""
    usage: Usage | None = None
    stop_reason: str | None = None
    error: Json = None
    time: float | None = None
    """Time in milliseconds since the epoch, from the agent."""
    call_id: str | None = None
    """Id of the call, for the role `tool`. The block of the call has the result, too."""
    name: str | None = None
    command: str | None = None
    """Shell command, for the role `shell`; the output is in `blocks`."""
    exit_code: int | None = None
    cancelled: bool | None = None
    truncated: bool | None = None
    tokens_before: int | None = None
    """Number of tokens before the compaction, for the role `summary`."""
    details: Json = None
    gone: bool | None = None
    """`True` if the message is outside of the model's context."""
    hidden: bool | None = None
    """`True` if the message is not meant for display."""

    @property
    def text(self) -> str:
        """Text of the message."""
        return "".join(block.text or "" for block in self.blocks if block.type == "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry(ViewRecord):
    """Retry of a model request."""

    attempt: int | None = None
    max_attempts: int | None = None
    delay_ms: float | None = None
    error: str | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(ViewRecord):
    """Compaction in progress."""

    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(ViewRecord):
    """Activity of the agent."""

    state: Literal["idle", "working", "retrying", "compacting", "aborting"] = "idle"
    working: bool = False
    aborting: bool = False
    retry: Retry | None = None
    compaction: Compaction | None = None
    activity: str | None = None
    """Activity in the agent's text."""
    error: str | None = None
    """Reason for the failure of the last run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInput(ViewRecord):
    """User input that has not entered the conversation."""

    key: str
    text: str
    images: int = 0
    """Number of images."""
    mode: Literal["prompt", "steer", "followUp"] = "prompt"
    state: Literal["sent", "taken", "queued"] = "sent"
    id: Json = None
    """Id of the command that carries the input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion(ViewRecord):
    """Open question."""

    key: str
    id: Json
    method: str
    """Wire name of the dialog."""
    kind: Literal["select", "confirm", "input", "editor"]
    title: str | None = None
    text: str | None = None
    options: tuple[str, ...] | None = None
    placeholder: str | None = None
    prefill: str | None = None
    secret: bool | None = None
    timeout_ms: float | None = None
    """Time in milliseconds after which the agent continues without an answer."""
    at: float | None = None
    """Time of arrival, if the caller supplied it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell(ViewRecord):
    """Running shell command of the client."""

    key: str
    command: str
    output: str = ""
    id: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(ViewRecord):
    """Notice for the user."""

    key: str
    level: Literal["info", "warning", "error"]
    text: str
    source: str | None = None
    """Source: file of an extension, or name of a command."""
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(ViewRecord):
    """Fill level of the model's context."""

    tokens: int | None = None
    window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(ViewRecord):
    """Text for the editor; `count` grows with each."""

    text: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(ViewRecord):
    """Session of the conversation."""

    id: str | None = None
    file: str | None = None
    name: str | None = None
    directory: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(ViewRecord):
    """Available model."""

    id: str
    provider: str | None = None
    name: str | None = None
    window: int | None = None
    """Context window in tokens."""
    reasoning: bool | None = None
    api: str | None = None
    """Wire format of the API, as the agent names it."""
    base_url: str | None = None
    """Address of the API."""
    input: tuple[str, ...] | None = None
    """Input types: `text`, `image`."""
    max_tokens: int | None = None
    """Maximum tokens of one answer."""
    prices: Json = None
    """Prices in US dollars per million tokens, in the form of the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommand(ViewRecord):
    """Command that a prompt can invoke with `/name`."""

    name: str
    description: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkPoint(ViewRecord):
    """User message from which a fork is possible."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo(ViewRecord):
    """Open task of the agent."""

    text: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SentCommand(ViewRecord):
    """Command without a response."""

    command: str
    params: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldState(ViewRecord):
    """Private state of the fold."""

    next: int = 1
    sent: dict[str, SentCommand] = dataclasses.field(default_factory=dict[str, SentCommand])
    held: tuple[Message, ...] = ()
    """Messages of shell commands that ended during a run; they follow the run."""
    failure: str | None = None
    """Reason for the failure of the current run; a later event may replace it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation(ViewRecord):
    """Conversation as far as frames have described it. The result of `to_json` can be stored and continued
    later."""

    dialect: str
    messages: tuple[Message, ...] = ()
    """Messages in the order of arrival, including those outside of the model's context."""
    complete: bool = True
    """`False` if the agent has messages that no frame contained; the response to the history command contains
    them."""
    waiting: tuple[PendingInput, ...] = ()
    """User input outside of the conversation, including the queues."""
    run: Run = Run()
    usage: Usage = Usage()
    """Usage of the whole session, as far as frames reported it."""
    context: Context | None = None
    dialogs: tuple[OpenQuestion, ...] = ()
    shells: tuple[Shell, ...] = ()
    """Running shell commands of the client."""
    notices: tuple[Notice, ...] = ()
    """Last hundred notices: notifications, rejected commands, failures of extensions."""
    status: dict[str, Json] = dataclasses.field(default_factory=dict[str, Json])
    """Entries of the status line, by key."""
    widgets: dict[str, Json] = dataclasses.field(default_factory=dict[str, Json])
    """Blocks of lines beside the editor, by key."""
    title: str | None = None
    draft: Draft | None = None
    session: Session = Session()
    model: Model | None = None
    thinking_level: str | None = None
    settings: dict[str, Json] = dataclasses.field(default_factory=dict[str, Json])
    """Settings by name, such as `steeringMode`, as far as frames reported them."""
    commands: tuple[SlashCommand, ...] | None = None
    models: tuple[Model, ...] | None = None
    fork_points: tuple[ForkPoint, ...] | None = None
    todos: tuple[Todo, ...] | None = None
    tasks: tuple[dict[str, Json], ...] = ()
    """Subagents, by their members: `id`, `name`, `state` and more."""
    internal: FoldState = FoldState()


def next_key(conversation: Conversation) -> tuple[str, Conversation]:
    """Returns a new unique key."""
    internal = conversation.internal
    moved = dataclasses.replace(internal, next=internal.next + 1)
    return f"k{internal.next}", dataclasses.replace(conversation, internal=moved)
