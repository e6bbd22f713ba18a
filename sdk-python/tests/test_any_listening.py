"""Listeners of an agent of any dialect: order, waits, and the current session."""

import asyncio
import gc
import json
import sys
import weakref
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.driver import LIMIT
from test_any import KINDS, Threads, all_events, play, start as start, until

from agentese import DetachedError, TerminatedError
from agentese.any import differences
from agentese.any.listener import MAX_QUEUED_BYTES, Listener, size
from agentese.any.tracker import ConversationTracker
from agentese.backends import current
from agentese.reactor import Reactor
from agentese.view.conversation import Block, Conversation, Message

NOISY = """
import json, sys
for line in sys.stdin:
    frame = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": frame["id"], "result": {"session_id": "s2"}}
    noise = "a line of a log\\n" + "[" * 100000 + "\\n" if frame["method"] == "session/start" else ""
    sys.stdout.write(noise + json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""


@pytest.mark.parametrize("kind", KINDS)
def test_noise_during_session_opening_is_ignored(kind):
    async def talk():
        async with await KINDS[kind]([sys.executable, "-c", NOISY], dialect="opal") as agent:
            events = agent.events()
            assert await agent.new_session()
            assert agent.conversation.session.id == "s2"
        received = []
        with pytest.raises(TerminatedError):
            while True:
                received.append(await asyncio.to_thread(next, events) if isinstance(agent, Threads) else await anext(events))
        assert "changed" in [event.type for event in received]

    play(talk())


def test_failing_callback_does_not_stop_the_others():
    async def talk():
        reactor = Reactor(current())
        called = []
        reactor.mailbox = SimpleNamespace(inherited=False, drain=lambda: [1, 2], fileno=reactor.mailbox.fileno)
        reactor.on_token(1, lambda: called.append(1 / 0))
        reactor.on_token(2, lambda: called.append("second"))
        with pytest.raises(ZeroDivisionError):
            reactor._drain()
        assert called == ["second"]
        reactor.close()

    asyncio.run(talk())


START = "session/start"


def sent(id):
    return ("sent", json.dumps({"jsonrpc": "2.0", "id": id, "method": START, "params": {}}))


def answer(id, session):
    return ("received", json.dumps({"jsonrpc": "2.0", "id": id, "result": {"session_id": session}}))


def test_tracker_follows_the_session_named_in_the_opening_response():
    tracker = ConversationTracker("opal")
    tracker.begin_opening(START)
    tracker.fold([sent(1), answer(1, "first")])
    tracker.end_opening(START)
    assert tracker.conversation.session.id == "first"
    tracker.begin_opening(START)
    # Requests from before the opening may be answered before it or after it.
    tracker.fold([sent(2), answer(0, "first"), answer(0, "third"), answer(2, "second"), answer(0, "first")])
    tracker.end_opening(START)
    assert tracker.conversation.session.id == "second"
    tracker.fold([answer(0, "first")])
    assert tracker.conversation.session.id == "second"


def test_tracker_follows_the_concurrent_opening_answered_last():
    tracker = ConversationTracker("opal")
    tracker.begin_opening(START)
    tracker.begin_opening(START)
    # An older call is answered between them; its response still names the earlier session.
    tracker.fold([answer(0, "one"), sent(1), sent(2), answer(2, "three"), answer(0, "one")])
    assert tracker.conversation.session.id == "three"
    tracker.fold([answer(1, "two")])
    tracker.end_opening(START)
    # After a rejected opening, a response to an older call does not change the session.
    tracker.fold([sent(3), ("received", '{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"no"}}'), answer(0, "one")])
    tracker.end_opening(START)
    assert tracker.conversation.session.id == "two"
    # A cancelled opening does not change the session.
    tracker.begin_opening(START)
    tracker.fold([sent(4)])
    tracker.end_opening(START)
    tracker.fold([answer(4, "four")])
    assert tracker.conversation.session.id == "two"


def test_session_of_the_last_answer_replaces_another_and_keeps_models():
    models = [
        ("sent", json.dumps({"jsonrpc": "2.0", "id": 0, "method": "models/list", "params": {}})),
        ("received", json.dumps({"jsonrpc": "2.0", "id": 0, "result": {"models": [{"id": "m"}]}})),
    ]
    tracker = ConversationTracker("opal")
    tracker.begin_opening(START)
    tracker.begin_opening(START)
    tracker.fold([*models, sent(1), sent(2), answer(2, "other")])
    assert (tracker.current_session(), len(tracker.conversation.models)) == ("other", 1)
    tracker.fold([answer(1, "first")])
    assert tracker.current_session() == "first"


# An agent that opens the requested session first, and then the default session that a call needs.
# It accepts commands only for the default session.
CROSSED = """
import json, sys
held = []
def answer(id, **told):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, **told}) + "\\n")
for line in sys.stdin:
    frame = json.loads(line)
    session = frame["params"].get("session_id", "first")
    if frame["method"] != "session/start":
        answer(frame["id"], **({"result": {}} if session == "first" else {"error": {"code": 1, "message": session}}))
    else:
        held.append((session == "first", frame["id"], session))
        if len(held) == 2:
            for _, id, session in sorted(held):
                answer(id, result={"session_id": session})
    sys.stdout.flush()
"""


@pytest.mark.parametrize("kind", KINDS)
def test_commands_go_to_the_last_answered_of_first_and_explicit_session(kind):
    async def talk():
        async with await KINDS[kind]([sys.executable, "-c", CROSSED], dialect="opal") as agent:
            both = [agent.abort, lambda: agent.open_session("other")]
            if isinstance(agent, Threads):
                both = [lambda: asyncio.to_thread(agent.agent.abort), lambda: asyncio.to_thread(agent.agent.open_session, "other")]
            await asyncio.gather(*(call() for call in both))
            assert agent.conversation.session.id == "first"
            await agent.abort()

    play(talk())


# An agent that answers once both sessions are requested. It opens the requested session first, and
# the other one after a command for the requested session.
LATE = """
import json, sys
first = other = None
for line in sys.stdin:
    frame = json.loads(line)
    session = frame["params"].get("session_id")
    told = []
    if frame["method"] != "session/start":
        told = [(frame["id"], {}), *([(first, {"session_id": "first"})] if session == "other" else [])]
    elif session is None:
        first = frame["id"]
    else:
        other = frame["id"]
    if first is not None and other is not None:
        told, other = [*told, (other, {"session_id": "other"})], None
    for id, result in told:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}) + "\\n")
    sys.stdout.flush()
"""


@pytest.mark.parametrize("kind", KINDS)
def test_no_wait_for_a_first_session_when_another_is_followed(kind):
    async def talk():
        async with await KINDS[kind]([sys.executable, "-c", LATE], dialect="opal") as agent:
            def aborting():
                return asyncio.to_thread(agent.agent.abort) if isinstance(agent, Threads) else agent.abort()

            waiting = asyncio.create_task(aborting())
            await asyncio.sleep(0)
            await agent.open_session("other")
            async with asyncio.timeout(LIMIT):
                await aborting()
                await waiting
            assert agent.conversation.session.id == "first"

    play(talk())


def printing(count, text):
    """Yields the events of a tracker. Each time the tool prints, its complete output is received
    again.
    """
    block = Block(type="tool", call_id="c", name="bash", state="running")
    conversation = Conversation(dialect="pi", messages=(Message(key="m", role="assistant", state="growing", blocks=(block,)),))
    for number in range(count):
        shown = replace(block, output=(Block(type="text", text=f"{number} {text}"),))
        message = replace(conversation.messages[0], blocks=(shown,))
        now = replace(conversation, messages=(message,))
        yield from differences(conversation, now)
        conversation = now


def test_listener_overflow_is_measured_in_queued_bytes():
    listener = Listener(lambda: None)
    megabyte = "x" * (1 << 20)
    updates = list(printing(100, megabyte))
    assert {event.type for event in updates} == {"toolUpdated"}
    for event in updates:
        listener.push([(event, size(event))])
    assert listener.is_ended
    kept = 0
    while listener:
        listener.take()
        kept += 1
    assert MAX_QUEUED_BYTES >> 20 <= kept <= (MAX_QUEUED_BYTES >> 20) + 2
    with pytest.raises(DetachedError, match="64 MiB"):
        raise listener.failure()


def test_prompt_reader_never_overflows():
    listener = Listener(lambda: None)
    for event in printing(200, "x" * (1 << 20)):
        listener.push([(event, size(event))])
        listener.take()
    assert not listener.is_ended


async def until_dropped(kept):
    """Waits until the object is collected."""
    while kept() is not None:
        gc.collect()
        await asyncio.sleep(0.01)


def test_dropped_run_unsubscribes(start):
    words = {"responses": [{"blocks": [{"text": ["a "] * 400}], "delay_ms": 25}], "default": {"text": "Then."}}

    async def talk():
        async with await start("pi", words) as agent:
            tracker = agent._tracker
            run = await agent.prompt("Go on")
            [listener] = tracker._listeners
            await until(run, "textGrew")
            kept = weakref.ref(run)
            del run
            await until_dropped(kept)
            assert listener.is_ended and not listener
            await agent.abort()
            with agent.events() as events:
                second = await agent.prompt("Hello")
                assert len(tracker._listeners) == 2
                assert "messageEnded" in [event.type for event in await all_events(second)]
            assert events.listener.is_ended and events.listener not in tracker._listeners

    play(talk())


def test_the_text_alone_needs_no_events(start):
    async def talk():
        async with await start("pi", {"responses": [{"text": "One."}, {"text": "Two."}]}) as agent:
            run = await agent.prompt("Hello")
            run = getattr(run, "_run", run)
            assert await settled(run.text(timeout=LIMIT)) == "One."
            assert agent._tracker._listeners == []
            run = await agent.prompt("Again")
            assert [event.type for event in await all_events(run)].count("messageEnded") == 2
            assert (await run.result()).text == "Two."

    async def settled(text):
        return text if isinstance(text, str) else await text

    play(talk())


def test_a_long_conversation_is_compared_without_a_step_for_each_message():
    long = tuple(Message(key=str(number), role="user", state="done") for number in range(10_000))
    before = Conversation(dialect="pi", messages=(*long, Message(key="m", role="assistant", state="growing")))

    def more(number):
        message = Message(key="m", role="assistant", state="growing", blocks=(Block(type="text", text="x" * number),))
        return replace(before, messages=(*long, message))

    steps = 0

    def count(frame, event, _):
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        return count

    tracing = sys.gettrace()
    sys.settrace(count)
    try:
        told = differences(before, more(3))
    finally:
        sys.settrace(tracing)
    assert [event.type for event in told] == ["textGrew"]
    assert 0 < steps < len(long)


def test_changes_in_the_middle_of_the_messages_are_emitted():
    long = tuple(Message(key=str(number), role="user", state="done") for number in range(5))
    before = Conversation(dialect="pi", messages=long)
    now = replace(before, messages=(long[0], replace(long[1], gone=True), *long[2:], Message(key="n", role="user", state="done")))
    told = [event.type for event in differences(before, now)]
    assert told == ["messageGone", "messageBegan", "messageEnded"]
    other = replace(before, messages=(long[0], replace(long[1], key="other"), *long[2:]))
    assert [event.type for event in differences(before, other)] == ["replaced"]
    assert [event.type for event in differences(before, replace(before, messages=long[:3]))] == ["replaced"]
