"""Records: creation by keyword, equality by value, `repr`, and use with other libraries."""

import gc
import json
import pydoc
import weakref

import msgspec
import pydantic
import pytest
from conftest import ROOT
from support.driver import DIALECTS

import agentese
from agentese import DecodeError, EncodeError, Record, pi, shapes, types
from agentese._native import plain_class
from agentese.unknown import UnknownEvent

MODEL = json.loads((ROOT / "protocol/model.json").read_text())
MODELS = [pytest.param(model, id=model["name"]) for model in MODEL["dialects"]]


def given(record):
    """Returns the members of a record as keyword arguments of its constructor."""
    return {name: getattr(record, name) for name in type(record).__match_args__ if getattr(record, name) is not None}


@pytest.mark.parametrize("model", MODELS)
def test_every_example_can_be_made_by_keyword(model):
    module = DIALECTS[model["name"]]
    for event in model["events"]:
        read = module.EVENTS[event["name"]].from_dict(event["example"])
        # A required member may be null.
        nulls = {name: None for name in type(read).__match_args__ if name in event["example"] and getattr(read, name) is None}
        made = type(read)(**nulls, **given(read))
        nothing = {name for name, value in event["example"].items() if value is None}
        assert {name: value for name, value in read.to_dict().items() if name not in nothing} == {
            name: value for name, value in made.to_dict().items() if name not in nothing
        }


def test_invalid_members_are_rejected_with_their_path():
    with pytest.raises(TypeError, match="has no member `tool_nam`; did you mean `tool_name`"):
        pi.ToolExecutionStart(tool_nam="bash")
    with pytest.raises(TypeError, match="needs `tool_call_id`, `args`"):
        pi.ToolExecutionStart(tool_name="bash")
    with pytest.raises(EncodeError, match=r"ToolExecutionStart\.toolCallId: expected a string, found 1"):
        pi.ToolExecutionStart(tool_call_id=1, tool_name="bash", args={})
    with pytest.raises(EncodeError, match=r"AgentEnd\.messages\[0\]\.content"):
        pi.AgentEnd(messages=[{"role": "user", "content": 7, "timestamp": 1}])
    with pytest.raises(TypeError, match="declares no members"):
        pi.UnknownEvent(type="new")


def test_text_rejected_by_one_record_class_is_not_reused_for_another():
    class Needs(pi.AgentStart):
        def __new__(cls, needed):
            return super().__new__(cls)

    class Makes(pi.AgentStart):
        made = []

        def __new__(cls):
            cls.made.append(pi.BashParams(command="ls"))
            return super().__new__(cls)

    with pytest.raises(TypeError, match="needed"):
        Needs.from_json('{"command":"old"}')
    assert pi.BashParams(command="new").command == "new"
    assert pi.AgentStart().raw == '{"type":"agent_start"}'
    assert Makes.from_json('{"type":"agent_start","n":1}').raw == '{"type":"agent_start","n":1}'
    assert [made.raw for made in Makes.made] == ['{"command":"ls"}']


def test_set_name_is_called_for_class_members():
    class NameRecorder:
        def __set_name__(self, owner, name):
            self.by = (owner.__name__, name)

    told = NameRecorder()

    class MemberOwner(Record, metaclass=plain_class):
        member = told

    class RawReader(Record, metaclass=plain_class):
        def text(self):
            return super().raw

    assert told.by == ("MemberOwner", "member")
    assert (MemberOwner.from_json("{}").raw, RawReader.from_json('{"a":1}').text()) == ("{}", '{"a":1}')


def test_a_member_that_is_a_record_is_read_once():
    message = {"role": "user", "content": [{"type": "text", "text": "x"}], "timestamp": 1}
    delta = {"type": "text_delta", "contentIndex": 0, "delta": "x", "partial": {}}
    update = pi.MessageUpdate.from_json(json.dumps({"type": "message_update", "message": message, "assistantMessageEvent": delta}))
    piece = update.assistant_message_event
    assert update.assistant_message_event is piece and piece.delta == "x"
    # Other members are decoded independently. A mutable member is a new object at each access.
    assert update.message != piece and update.message.role == "user"
    update.message.content.clear()
    assert len(update.message.content) == 1


def test_the_cycle_collector_looks_at_subclasses_alone():
    class Mine(pi.MessageUpdate):
        pass

    text = '{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"x"}}'
    event = pi.decode_event(text)
    assert not gc.is_tracked(event) and not gc.is_tracked(event.assistant_message_event)
    mine = Mine.from_json(text)
    mine.__dict__["itself"] = mine
    mine.__dict__["told"] = told = WeakTarget()
    gone = weakref.ref(told)
    assert mine.assistant_message_event.delta == "x" and gc.is_tracked(mine)
    del mine, told
    gc.collect()
    assert gone() is None


class WeakTarget:
    """A target of weak references."""


def test_equality_is_by_value():
    plain = pi.ToolExecutionStart(tool_call_id="c", tool_name="bash", args={"command": "ls", "n": 1})
    spaced = pi.ToolExecutionStart.from_json(
        '{ "args": {"n": 1, "command": "l\\u0073"}, "toolName": "bash", "toolCallId": "c", "type": "tool_execution_start" }'
    )
    assert plain == spaced and hash(plain) == hash(spaced) and len({plain, spaced}) == 1
    assert plain != pi.ToolExecutionStart(tool_call_id="c", tool_name="bash", args={"command": "ls", "n": 2})
    assert plain != plain.to_dict()
    assert pi.AgentStart() != pi.TurnStart()


def test_repr_shows_members_and_stays_short():
    event = pi.ToolExecutionStart(tool_call_id="c", tool_name="bash", args={"command": "ls"})
    assert repr(event) == "ToolExecutionStart(tool_call_id='c', tool_name='bash', args={'command': 'ls'})"
    deep = pi.MessageUpdate.from_dict({
        "type": "message_update", "message": {"role": "user", "content": "x" * 10_000, "timestamp": 1}, "extra": 7,
        "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "Hi"},
    })
    shown = repr(deep)
    assert "delta='Hi'" in shown and "**{'extra': 7}" in shown and len(shown) < 400
    odd = pi.decode_event('{"type":"brand_new","deep":{"a":1}}')
    assert repr(odd) == "UnknownEvent(**{'deep': {'a': 1}, 'type': 'brand_new'})"
    assert "ToolExecutionStart(" in repr(pi.ToolExecutionStart.from_json('{"toolName":7}'))


def test_help_has_the_members():
    text = pydoc.render_doc(pi.ToolExecutionStart, renderer=pydoc.plaintext)
    assert "tool_name\n |      str: Name of the tool." in text
    text = pydoc.render_doc(pi.Client, renderer=pydoc.plaintext)
    assert "ask(self, message" in text and "set_steering_mode(self, mode" in text


@pytest.mark.parametrize("model", MODELS)
def test_events_are_decoded_with_and_without_their_envelope(model):
    module = DIALECTS[model["name"]]
    for event in model["events"]:
        line = json.dumps(event["example"])
        assert module.decode_event(line) == module.EVENTS[event["name"]].from_dict(event["example"])
        if model["name"] == "opal":
            wrapped = {"jsonrpc": "2.0", "method": "agent/event", "params": event["example"]}
        elif model["name"] == "operator":
            wrapped = {"type": "event", "event": event["example"]}
        else:
            continue
        assert module.decode_event(json.dumps(wrapped).encode()) == module.decode_event(line)
    unknown = module.decode_event('{"type":"brand_new"}')
    assert isinstance(unknown, UnknownEvent) and unknown.tag == "brand_new"


@pytest.mark.parametrize("line", ["", "[]", "nonsense", "{}", '{"type":"response","command":"x","success":true}'])
def test_non_event_frames_are_not_decoded(line):
    with pytest.raises(DecodeError):
        pi.decode_event(line)


def test_parameters_are_checked_before_they_are_sent(agent):
    with pi.Client.spawn(agent) as client:
        seen = client.get_state().steering_mode
        with pytest.raises(EncodeError, match=r'set_steering_mode\.mode: expected one of .*, found "nonsense"'):
            client.set_steering_mode("nonsense")
        with pytest.raises(EncodeError, match=r"prompt\.message: expected a string, found 7"):
            client.prompt(7)
        with pytest.raises(EncodeError, match=r"prompt\.images\[0\]"):
            client.prompt("hi", images=[{"type": "image"}])
        assert client.get_state().steering_mode == seen


class Stored(pydantic.BaseModel):
    """Model that a program with pydantic stores."""

    event: pi.ToolExecutionStart
    message: shapes.UserMessage


EVENT = {"type": "tool_execution_start", "toolCallId": "c", "toolName": "bash", "args": {"command": "ls"}}
MESSAGE = {"role": "user", "content": "hi", "timestamp": 1}


def test_pydantic_reads_and_writes_records():
    stored = Stored.model_validate({"event": EVENT, "message": MESSAGE})
    assert isinstance(stored.event, pi.ToolExecutionStart) and stored.event.tool_name == "bash"
    assert json.loads(stored.model_dump_json()) == stored.model_dump(mode="json") == {"event": EVENT, "message": MESSAGE}
    assert Stored.model_validate_json(stored.model_dump_json()) == stored
    assert Stored(event=stored.event, message=MESSAGE).event is stored.event
    with pytest.raises(pydantic.ValidationError, match="toolName"):
        Stored.model_validate({"event": {**EVENT, "toolName": 7}, "message": MESSAGE})
    assert Stored.model_json_schema()["properties"]["event"]["type"] == "object"


def test_pydantic_reads_every_shape():
    names = [name for name, value in vars(shapes).items() if isinstance(value, type) and hasattr(value, "__total__")]
    assert len(names) > 200
    for name in names:
        adapter = pydantic.TypeAdapter(getattr(shapes, name))
        example = MODEL["types"][name].get("example") if name in MODEL["types"] else None
        if example is not None:
            adapter.validate_python(example)
    adapter = pydantic.TypeAdapter(shapes.AgentMessage)
    assert adapter.validate_python(MESSAGE) == MESSAGE


def test_msgspec_reads_and_writes_records():
    decoder = msgspec.json.Decoder(pi.ToolExecutionStart, dec_hook=agentese.dec_hook)
    event = decoder.decode(json.dumps(EVENT))
    assert event == pi.ToolExecutionStart.from_dict(EVENT)
    assert json.loads(msgspec.json.encode({"seen": [event]}, enc_hook=agentese.enc_hook)) == {"seen": [EVENT]}
    with pytest.raises(msgspec.ValidationError, match="toolName"):
        decoder.decode(json.dumps({**EVENT, "toolName": 7}))
    # msgspec does not support a union of several TypedDicts. It reads classes of `shapes` that
    # contain no such union.
    assert msgspec.json.decode('{"text": "hi"}', type=shapes.LastAssistantText) == {"text": "hi"}
    with pytest.raises(NotImplementedError):
        agentese.enc_hook(object())


def test_constants_of_records_match_their_wire_values():
    for name in vars(types).values():
        if isinstance(name, type) and issubclass(name, Record) and hasattr(name, "_constants"):
            for wire, raw in name._constants.items():
                assert json.loads(raw) == getattr(name, wire if wire.isidentifier() else wire.lower(), json.loads(raw))
