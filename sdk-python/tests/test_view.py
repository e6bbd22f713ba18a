"""The view folds every recorded session to the values of the test vectors, which are the same in
every language.
"""

import hashlib
import json
import math

import pytest
from agentese.testing import line_of
from agentese.view import Conversation, Message, View, fold
from conftest import ROOT
from support.replay import read

VECTORS = json.loads((ROOT / "conformance/vectors/view.json").read_text(encoding="utf-8"))


def canonical(value):
    """Returns the JSON text of a value in a form that is equal in all languages: members are sorted
    by name, numbers are in millionths.
    """
    if value is None:
        return "n"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, int | float):
        return f"#{math.floor(float(value) * 1e6 + 0.5)}"
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, list):
        return f"[{','.join(map(canonical, value))}]"
    return "{" + ",".join(f"{name}:{canonical(value[name])}" for name in sorted(value)) + "}"


def digest(conversation):
    members = conversation.to_json()
    del members["internal"]
    return hashlib.sha256(canonical(members).encode()).hexdigest()[:16]


def in_context(conversation):
    return [message for message in conversation.messages if not message.gone and message.state != "growing"]


def compare(before, after):
    """Compares a view before and after the answer to the history command."""
    old = {message.key: message for message in in_context(before)}
    told, untold, changed = 0, [], set()
    for message in in_context(after):
        known = old.pop(message.key, None)
        if known is None:
            untold.append(" ".join(filter(None, [message.role, message.kind])))
            continue
        told += 1
        one, other = known.to_json(), message.to_json()
        changed |= {f"{message.role}.{name}" for name in {*one, *other} if canonical(one.get(name)) != canonical(other.get(name))}
    keys = [message.key for message in in_context(after)]
    places = [keys.index(message.key) for message in in_context(before) if message.key in keys]
    if places != sorted(places):
        changed.add("order")
    return {"complete": before.complete, "told": told, "untold": untold, "gone": len(old), "changed": sorted(changed)}


def is_history(view, before, line):
    """Returns `True` if a line is the successful response to the first command that a late view
    sends.
    """
    try:
        frame = json.loads(line)
    except ValueError:
        return False
    if not isinstance(frame, dict) or not (frame.get("success") is True or "result" in frame):
        return False
    history = view.catch_up_commands[0]
    place = json.dumps(frame["id"], separators=(",", ":")) if "id" in frame else f"without {history}"
    sent = before.internal.sent.get(place)
    return sent is not None and sent.command == history


@pytest.mark.parametrize("session", VECTORS["sessions"], ids=[session["transcript"] for session in VECTORS["sessions"]])
def test_recorded_session_folds_to_the_vector_snapshots(session):
    dialect, _ = session["transcript"].split("/")
    view = View(dialect)
    asked = []
    _, records = read(ROOT / f"conformance/transcripts/{session['transcript']}.jsonl")
    for record in records:
        if record.get("dir") not in ("c2s", "s2c"):
            continue
        line = line_of(record)
        before = view.conversation
        after = (view.sent if record["dir"] == "c2s" else view.received)(line, record.get("t"))
        if record["dir"] == "s2c" and is_history(view, before, line):
            asked.append(compare(before, after))
    assert asked == session["asked"]
    assert digest(view.conversation) == session["end"]
    allowed = VECTORS["unannounced"][dialect]
    for answer in asked:
        assert set(answer["changed"]) <= set(allowed)
        assert not answer["complete"] or (answer["gone"] == 0 and set(answer["untold"]) <= set(allowed))


def user(text):
    return {"role": "user", "content": text, "timestamp": 4}


def test_messages_that_do_not_change_stay_the_same_objects():
    view = View("pi")
    view.received({"type": "message_start", "message": user("one")})
    before = view.received({"type": "message_end", "message": user("one")})
    after = view.received({"type": "message_start", "message": {"role": "assistant", "content": [], "timestamp": 5}})
    assert after.messages[0] is before.messages[0] and len(before.messages) == 1
    assert view.received({"type": "never_heard_of"}) is after
    assert view.received("no JSON") is after and view.received(b"[1]") is after


def test_view_is_restored_from_any_frame():
    _, records = read(ROOT / "conformance/transcripts/pi/steer-tools-all.jsonl")
    whole = kept = Conversation(dialect="pi")
    for record in records:
        if record.get("dir") in ("c2s", "s2c"):
            direction = "sent" if record["dir"] == "c2s" else "received"
            whole = fold(whole, direction, line_of(record))
            kept = fold(Conversation.of(json.loads(json.dumps(kept.to_json()))), direction, line_of(record))
    assert kept == whole and View.resume(kept).conversation is kept
    with pytest.raises(ValueError, match='unknown dialect "nothing"; known: omp, '):
        View("nothing")


def test_questions_leave_when_they_are_answered_and_when_their_time_is_up():
    view = View("pi")
    ask = {"type": "extension_ui_request", "method": "confirm", "title": "Sure?", "message": "m", "timeout": 500}
    view.received({**ask, "id": "d1"}, 1000)
    view.received({**ask, "id": "d2"}, 1100)
    assert [question.title for question in view.conversation.dialogs] == ["Sure?", "Sure?"]
    view.sent({"type": "extension_ui_response", "id": "d1", "confirmed": True}, 1200)
    assert [question.id for question in view.conversation.dialogs] == ["d2"]
    assert view.received({"type": "turn_start"}, 1600).dialogs == ()


def test_pieces_grow_a_message():
    view = View("pi")
    view.received({"type": "message_start", "message": {"role": "assistant", "content": [], "timestamp": 5}})
    for delta in ["Hel", "lo"]:
        view.received({"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": delta}})
    assert isinstance(view.conversation.messages[0], Message)
    assert (view.conversation.messages[0].text, view.conversation.messages[0].state) == ("Hello", "growing")


def test_a_place_behind_the_blocks_is_the_next_one():
    view = View("pi")
    view.received({"type": "message_start", "message": {"role": "assistant", "content": [], "timestamp": 5}})
    for event in [{"type": "text_start", "contentIndex": 1_000_000}, {"type": "text_delta", "contentIndex": 0, "delta": "Hello"}]:
        view.received({"type": "message_update", "assistantMessageEvent": event})
    assert [block.text for block in view.conversation.messages[0].blocks] == ["Hello"]


def test_non_text_error_is_shown_as_json():
    view = View("pi")
    view.sent({"id": "1", "type": "compact"})
    error = {"code": "full", "path": "/tmp/ä"}
    view.received({"id": "1", "type": "response", "command": "compact", "success": False, "error": error})
    assert [notice.text for notice in view.conversation.notices] == ['{"code":"full","path":"/tmp/ä"}']


WRONG = [5, True, "abc", [], {}, [5, {}], {"toString": None}, None, math.inf, "constructor", "__class__", "__init__", "__proto__"]
"""Values that have the wrong type for most members."""

HOSTILE = [
    ("pi", "ext-ui-values"),
    ("pi", "tool-write-read-edit"),
    ("omp", "ext_dialogs"),
    ("omp", "task_tool"),
    ("operator", "d01_prompt_answered_at_completion"),
    ("opal", "12_ask_user"),
    ("opal", "05_tool_read"),
]


def spoiled(value, wrong):
    """Yields copies of the value in which one member is replaced, at every depth. Only the first
    members of long values are replaced.
    """
    if not isinstance(value, dict | list):
        return
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for name, inner in list(items)[:12]:
        for other in (wrong, *spoiled(inner, wrong)):
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[name] = other
            yield copy


def misshapen(conversation):
    """Returns the members used by front ends whose values do not have their declared types."""

    def texts(*values):
        return all(value is None or isinstance(value, str) for value in values)

    faults = []
    for message in conversation.messages:
        faults += [] if texts(message.key, message.id, message.role, message.model, message.text) else ["message"]
        for block in message.blocks:
            faults += [] if texts(block.text, block.name, block.call_id, block.label, block.data) else [block.type]
    for dialog in conversation.dialogs:
        faults += [] if texts(dialog.title, dialog.text, *(dialog.options or ())) else ["dialog"]
        faults += [] if dialog.timeout_ms is None or isinstance(dialog.timeout_ms, int | float) else ["timeout"]
    faults += [] if all(texts(notice.text, notice.source) for notice in conversation.notices) else ["notice"]
    faults += [] if texts(*conversation.status.values(), conversation.title, conversation.session.id) else ["status"]
    faults += [] if all(texts(waiting.text) for waiting in conversation.waiting) else ["waiting"]
    faults += [] if all(texts(model.id, model.name) for model in conversation.models or ()) else ["model"]
    return faults


@pytest.mark.parametrize(("dialect", "scenario"), HOSTILE)
def test_a_frame_of_a_wrong_shape_leaves_a_conversation_of_the_right_shape(dialect, scenario):
    conversation = Conversation(dialect=dialect)
    tried = set()
    lines = (ROOT / "conformance/transcripts" / dialect / f"{scenario}.jsonl").read_text(encoding="utf-8").splitlines()
    for record in map(json.loads, lines[1:]):
        if not record.get("line", "").startswith("{"):
            continue
        frame, direction = json.loads(record["line"]), "sent" if record["dir"] == "c2s" else "received"
        kind = (direction, frame.get("type"), frame.get("method"), frame.get("command"))
        # One frame of each kind suffices.
        for wrong in WRONG if kind not in tried else []:
            for one in spoiled(frame, wrong):
                after = fold(fold(conversation, direction, one, 7.0), "received", {"type": "x"}, 8.0)
                assert misshapen(after) == [], json.dumps(one)[:500]
        tried.add(kind)
        conversation = fold(conversation, direction, frame, 7.0)


def test_a_frame_that_is_nested_too_deeply_ends_nothing():
    deep = "[" * 900 + "1" + "]" * 900
    conversation = Conversation(dialect="pi")
    for frame in (
        f'{{"type":"response","id":{deep},"command":"prompt","success":false,"error":{deep}}}',
        f'{{"type":"message_end","message":{{"role":"assistant","content":[{deep}]}}}}',
        f'{{"type":"tool_execution_update","toolCallId":"d","partialResult":{{"content":[],"details":{deep}}}}}',
        f'{{"type":"tool_execution_update","toolCallId":"d","partialResult":{{"content":[],"details":{deep}}}}}',
        f'{{"type":"deep","value":{"[" * 20_000}{"]" * 20_000}}}',
    ):
        conversation = fold(conversation, "received", frame)
    words = {"role": "assistant", "content": [{"type": "text", "text": "On."}]}
    assert fold(conversation, "received", {"type": "message_end", "message": words}).messages[-1].text == "On."


ENDS = json.loads((ROOT / "conformance/vectors/view_ends.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", ENDS, ids=[f"{case['dialect']}: {case['name']}" for case in ENDS])
def test_end_of_a_run_and_of_the_agent_is_shown(case):
    view = View(case["dialect"])
    for direction, frame in case["frames"]:
        view.sent(frame) if direction == "sent" else view.received(frame)
    if case["ended"] is not None:
        view.close(case["ended"])
    conversation = view.conversation
    assert conversation.run.to_json() == case["run"]
    assert [message.state for message in conversation.messages] == case["states"]
    assert conversation.dialogs == ()
