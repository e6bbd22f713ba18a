"""Conversation between an agent and its user, independent of the dialect, and immutable."""

import dataclasses
import typing
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Self

Json = Any
"""JSON value: `None`, booleans, numbers, strings, lists, dicts."""


def camel(name: str) -> str:
    """Converts the name of an attribute to its JSON name, in camel case."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRecord:
    """Base of the parts of a conversation. Their JSON form is the same in every language."""

    @classmethod
    def of(cls, members: dict[str, Json]) -> Self:
        """Creates the record from its JSON form. Unknown members, and members with a value of the wrong type,
        are ignored.

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
"""Marker for a value of the wrong type."""


def _read(hint: Any, value: Json) -> Any:
    """Converts a JSON value to the type of a member. Returns `_UNFIT` if the value has another type. In a list,
    only the items of another type are dropped."""
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
    """Converts a JSON value to the type of the named member. Returns `None` if the value has another type."""
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
    """Numbers of tokens, and the cost in US dollars."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    total: int | None = None
    cost: float | None = None
    costs: Json = None
    """Detailed cost of one message, as the agent reports it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(ViewRecord):
    """Part of a message. `type` determines which members it has."""

    type: Literal["text", "thinking", "image", "data", "tool"]
    text: str | None = None
    """Text of a `text` or `thinking` block."""
    redacted: bool | None = None
    """`True` if the provider has hidden the text of a `thinking` block."""
    signature: str | None = None
    """Opaque value of a `thinking` or `tool` block, which the provider requires in later requests."""
    mime_type: str | None = None
    """Media type of an image."""
    data: str | None = None
    """Bytes of an image in base64."""
    value: Json = None
    """Value of a `data` block."""
    call_id: str | None = None
    """Id of a tool call. Only `tool` blocks have this member and the following ones."""
    name: str | None = None
    arguments: Json = None
    """Arguments: complete, or the part that the agent could parse so far."""
    arguments_text: str | None = None
    """JSON text of the arguments so far, from an agent that sends only pieces of this text."""
    state: Literal["coming", "running", "done", "failed", "skipped"] | None = None
    output: "tuple[Block, ...] | None" = None
    """Output of the tool so far."""
    result: "tuple[Block, ...] | None" = None
    details: Json = None
    """Details of the result for display. Their form depends on the tool."""
    duration_ms: float | None = None
    label: str | None = None
    """Description of the call for users, in one line."""
    child: "Conversation | None" = None
    """Conversation of a subagent that the tool started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(ViewRecord):
    """Message of the conversation."""

    key: str = ""
    """Unique key of the message, which never changes."""
    id: str | None = None
    """Id that the agent assigned, if any."""
    role: str = "note"
    """`user`, `assistant`, `tool`, `system`, `summary`, `shell` or `note`."""
    kind: str | None = None
    """Role in the dialect, if it is more specific than `role`."""
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
    """Id of the tool call, for the role `tool`. The result is also in the block of the call."""
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
    """`True` if the message is no longer in the model's context."""
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
    """Description of the activity, in the agent's wording."""
    error: str | None = None
    """Reason for the failure of the last run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInput(ViewRecord):
    """User input that is not part of the conversation yet."""

    key: str
    text: str
    images: int = 0
    """Number of images in the input."""
    mode: Literal["prompt", "steer", "followUp"] = "prompt"
    state: Literal["sent", "taken", "queued"] = "sent"
    id: Json = None
    """Id of the command that sent the input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion(ViewRecord):
    """Question that has no answer yet."""

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
    """Time at which the question arrived, if the caller of the view supplied it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell(ViewRecord):
    """Running shell command that the client started."""

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
    """Source of the notice: the file of an extension, or the name of a command."""
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(ViewRecord):
    """Occupied part of the model's context window."""

    tokens: int | None = None
    window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(ViewRecord):
    """Text that the agent puts into the input editor. `count` increases with each such text."""

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
    """Maximum number of tokens in one answer."""
    prices: Json = None
    """Prices in US dollars per million tokens, as the agent reports them."""


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
    """Sent command that has no response yet."""

    command: str
    params: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldState(ViewRecord):
    """Internal state of the fold."""

    next: int = 1
    sent: dict[str, SentCommand] = dataclasses.field(default_factory=dict[str, SentCommand])
    held: tuple[Message, ...] = ()
    """Messages of shell commands that ended during a run. They are added to the conversation after the run."""
    failure: str | None = None
    """Reason for the failure of the current run. A later event can replace the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation(ViewRecord):
    """Conversation, as far as the folded frames describe it. The result of `to_json` can be stored, and
    continued later."""

    dialect: str
    messages: tuple[Message, ...] = ()
    """Messages in the order of arrival, including those outside of the model's context."""
    complete: bool = True
    """`False` if the agent has messages that no folded frame contained. The response to the history
    command supplies them."""
    waiting: tuple[PendingInput, ...] = ()
    """User input that is not part of the conversation yet, including the agent's queues."""
    run: Run = Run()
    usage: Usage = Usage()
    """Usage of the whole session, as far as frames reported it."""
    context: Context | None = None
    dialogs: tuple[OpenQuestion, ...] = ()
    shells: tuple[Shell, ...] = ()
    """Running shell commands that the client started."""
    notices: tuple[Notice, ...] = ()
    """Latest hundred notices: notifications, rejected commands, and failures of extensions."""
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
    """Subagents. Each has members such as `id`, `name` and `state`."""
    internal: FoldState = FoldState()


def next_key(conversation: Conversation) -> tuple[str, Conversation]:
    """Returns a new unique key, and the conversation with its key counter increased."""
    internal = conversation.internal
    moved = dataclasses.replace(internal, next=internal.next + 1)
    return f"k{internal.next}", dataclasses.replace(conversation, internal=moved)
