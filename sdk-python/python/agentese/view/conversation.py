"""What an agent and its user have said and done, in a form that no dialect has: never changed in place."""

import dataclasses
import typing
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Self

Json = Any
"""A value of JSON: `None`, booleans, numbers, strings, lists, dicts."""


def camel(name: str) -> str:
    """A member's name in JSON."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A part of a conversation. As JSON it is the same in every language."""

    @classmethod
    def of(cls, members: dict[str, Json]) -> Self:
        """Made of its JSON; members that it does not have, or of another kind, are left out.

        Raises `ValueError` where a member is missing that it needs.
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
        """As JSON; what has no value is left out."""
        members = ((camel(field.name), getattr(self, field.name)) for field in dataclasses.fields(self))
        return {name: _write(value) for name, value in members if value is not None}


@cache
def _fields(cls: type[Record]) -> dict[str, tuple[str, Any]]:
    hints = typing.get_type_hints(cls)
    return {camel(field.name): (field.name, hints[field.name]) for field in dataclasses.fields(cls)}


_UNFIT: Any = object()
"""In place of a value that is of another kind than its member."""


def _read(hint: Any, value: Json) -> Any:
    """A value of JSON as a member has it, or `_UNFIT`. Of a list, items that do not fit are left out."""
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
    if isinstance(hint, type) and issubclass(hint, Record):
        return _record(hint, value)
    return value if _fits(hint, value) else _UNFIT


def _record(kind: type[Record], value: Json) -> Any:
    try:
        return kind.of(value) if isinstance(value, dict) else _UNFIT
    except ValueError:
        return _UNFIT


def _fits(hint: Any, value: Json) -> bool:
    if hint is bool or hint is str:
        return isinstance(value, hint)
    return hint not in (int, float) or (isinstance(value, int | float) and not isinstance(value, bool))


def member(record: Record, name: str, value: Json) -> Json:
    """The value as the member of that name has it; `None` where it is of another kind."""
    kind: type = type(record)
    read = None if value is None else _read(_fields(kind)[name][1], value)
    return None if read is _UNFIT else read


def _write(value: Any) -> Json:
    if isinstance(value, Record):
        return value.to_json()
    if isinstance(value, tuple | list):
        return [_write(item) for item in value]
    if isinstance(value, dict):
        return {name: _write(item) for name, item in value.items()}
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage(Record):
    """Tokens, and the cost in US dollars."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    total: int | None = None
    cost: float | None = None
    costs: Json = None
    """Of one message: what the cost is made of, as the agent writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Record):
    """A part of a message: which of its members it has, `type` says."""

    type: Literal["text", "thinking", "image", "data", "tool"]
    text: str | None = None
    """Of text and reasoning."""
    redacted: bool | None = None
    """Of reasoning: true where it cannot be read."""
    signature: str | None = None
    """Of reasoning and tool calls: what the provider wants back with it; of no meaning to others."""
    mime_type: str | None = None
    """Of an image."""
    data: str | None = None
    """Of an image: the bytes in base64."""
    value: Json = None
    """Of something without a form of its own."""
    call_id: str | None = None
    """Of a tool call, as are all members below: the call's id."""
    name: str | None = None
    arguments: Json = None
    """Complete, or as far as the agent could read them."""
    arguments_text: str | None = None
    """Their JSON text as it comes, where the agent sends pieces only."""
    state: Literal["coming", "running", "done", "failed", "skipped"] | None = None
    output: "tuple[Block, ...] | None" = None
    """What the tool has shown so far."""
    result: "tuple[Block, ...] | None" = None
    details: Json = None
    """Facts for a front end; their shape is the tool's own."""
    duration_ms: float | None = None
    label: str | None = None
    """A description for people, in one line."""
    child: "Conversation | None" = None
    """What a subagent said that the tool set to work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Record):
    """A message of the conversation."""

    key: str = ""
    """A name that stays the same, for rendering."""
    id: str | None = None
    """The agent's own id, where it has one."""
    role: str = "note"
    """`user`, `assistant`, `tool`, `system`, `summary`, `shell` or `note`."""
    kind: str | None = None
    """The dialect's own word, where `role` is coarser."""
    state: Literal["growing", "done", "failed", "aborted"] = "done"
    blocks: tuple[Block, ...] = ()
    model: str | None = None
    provider: str | None = None
    api: str | None = None
    """The wire format of the model's API, in the agent's word."""
    usage: Usage | None = None
    stop_reason: str | None = None
    error: Json = None
    time: float | None = None
    """In milliseconds since the epoch, as the agent says."""
    call_id: str | None = None
    """With the role `tool`: the call that this is the result of. The block of the call has the result too."""
    name: str | None = None
    command: str | None = None
    """With the role `shell`; what it wrote is in `blocks`."""
    exit_code: int | None = None
    cancelled: bool | None = None
    truncated: bool | None = None
    tokens_before: int | None = None
    """With the role `summary`."""
    details: Json = None
    gone: bool | None = None
    """True where it is no longer in the model's context."""
    hidden: bool | None = None
    """Whether it is not meant to be shown."""

    @property
    def text(self) -> str:
        """The text of the message."""
        return "".join(block.text or "" for block in self.blocks if block.type == "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry(Record):
    """A request to the model that is made again."""

    attempt: int | None = None
    max_attempts: int | None = None
    delay_ms: float | None = None
    error: str | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Record):
    """A compaction that is going on."""

    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Record):
    """What the agent is doing."""

    state: Literal["idle", "working", "retrying", "compacting", "aborting"] = "idle"
    working: bool = False
    aborting: bool = False
    retry: Retry | None = None
    compaction: Compaction | None = None
    activity: str | None = None
    """What the agent says that it is doing."""
    error: str | None = None
    """Why the last run failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Record):
    """The user's words on their way into the conversation."""

    key: str
    text: str
    images: int = 0
    """How many images go with them."""
    mode: Literal["prompt", "steer", "followUp"] = "prompt"
    state: Literal["sent", "taken", "queued"] = "sent"
    id: Json = None
    """The id of the command that carries them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion(Record):
    """A question that waits for an answer."""

    key: str
    id: Json
    method: str
    """The dialog's wire name."""
    kind: Literal["select", "confirm", "input", "editor"]
    title: str | None = None
    text: str | None = None
    options: tuple[str, ...] | None = None
    placeholder: str | None = None
    prefill: str | None = None
    secret: bool | None = None
    timeout_ms: float | None = None
    """After how many milliseconds the agent answers for itself."""
    at: float | None = None
    """When it came, where the caller said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell(Record):
    """A shell command of the client that is running."""

    key: str
    command: str
    output: str = ""
    id: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Record):
    """Something for the user to know."""

    key: str
    level: Literal["info", "warning", "error"]
    text: str
    source: str | None = None
    """Who says so: an extension's file, a command's name."""
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Record):
    """How full the model's context is."""

    tokens: int | None = None
    window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(Record):
    """Text for the editor; `count` grows with each."""

    text: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Record):
    """The session."""

    id: str | None = None
    file: str | None = None
    name: str | None = None
    directory: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(Record):
    """A model that can be chosen."""

    id: str
    provider: str | None = None
    name: str | None = None
    window: int | None = None
    """The context window in tokens."""
    reasoning: bool | None = None
    api: str | None = None
    """The wire format of its API, in the agent's word."""
    base_url: str | None = None
    """The address of its API."""
    input: tuple[str, ...] | None = None
    """What can be put in: `text`, `image`."""
    max_tokens: int | None = None
    """The most tokens of one answer."""
    prices: Json = None
    """Prices in US dollars for a million tokens, as the agent writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommand(Record):
    """Something that a prompt can invoke with `/name`."""

    name: str
    description: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkPoint(Record):
    """A message of the user from which a fork can be made."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo(Record):
    """Something that the agent has still to do."""

    text: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent(Record):
    """A command that is not answered yet."""

    command: str
    params: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Internal(Record):
    """What the fold has to remember; of no use to others."""

    next: int = 1
    sent: dict[str, Sent] = dataclasses.field(default_factory=dict[str, Sent])
    held: tuple[Message, ...] = ()
    """Messages of shell commands that were over during a run: they follow it."""
    failure: str | None = None
    """Why the run that is going on fails, where nothing better follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation(Record):
    """A conversation as far as its frames have told it: `to_json` can be kept and gone on with."""

    dialect: str
    messages: tuple[Message, ...] = ()
    """In the order in which they came, those that are no longer in the model's context among them."""
    complete: bool = True
    """False where the agent has messages that no frame has told; the answer of the history command tells them."""
    waiting: tuple[Waiting, ...] = ()
    """The user's words that are not in the conversation yet, those in the queues among them."""
    run: Run = Run()
    usage: Usage = Usage()
    """Of the whole session, as far as it was told."""
    context: Context | None = None
    dialogs: tuple[OpenQuestion, ...] = ()
    shells: tuple[Shell, ...] = ()
    """The client's own shell commands that are running."""
    notices: tuple[Notice, ...] = ()
    """The last hundred: notifications, refused commands, failures of extensions."""
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
    """Settings by name, such as `steeringMode`, as far as they were told."""
    commands: tuple[SlashCommand, ...] | None = None
    models: tuple[Model, ...] | None = None
    fork_points: tuple[ForkPoint, ...] | None = None
    todos: tuple[Todo, ...] | None = None
    tasks: tuple[dict[str, Json], ...] = ()
    """Subagents, by their members: `id`, `name`, `state` and more."""
    internal: Internal = Internal()


def next_key(conversation: Conversation) -> tuple[str, Conversation]:
    """The next key, which is no other's."""
    internal = conversation.internal
    moved = dataclasses.replace(internal, next=internal.next + 1)
    return f"k{internal.next}", dataclasses.replace(conversation, internal=moved)
