"""The client for agents of every dialect, for threads and for asyncio."""

import asyncio
import hashlib
import json
import socket
import sys
from collections.abc import Iterator
import threading

import pytest
import trio
from conftest import ROOT
from support.driver import LIMIT
from support.replay import read
from test_view import canonical

from agentese import (
    NotInDialectError,
    NotRecognisedError,
    RefusedError,
    RunFailedError,
    RunLimits,
    TerminatedError,
    any as anything,
    omp,
    opal,
    pi,
)
from agentese.any import differences
from agentese.testing import line_of
from agentese.view import View

VECTORS = json.loads((ROOT / "conformance/vectors/any.json").read_text(encoding="utf-8"))["sessions"]
NEUTRAL = json.loads((ROOT / "sdk-python/python/agentese/generated/intents/neutral.json").read_text(encoding="utf-8"))
INTENTS = [name for name in NEUTRAL if not name.startswith("$")]


@pytest.mark.parametrize("session", VECTORS, ids=[session["transcript"] for session in VECTORS])
def test_recorded_session_emits_the_vector_events(session):
    view = View(session["transcript"].split("/")[0])
    told = []
    _, records = read(ROOT / f"conformance/transcripts/{session['transcript']}.jsonl")
    for record in records:
        if record.get("dir") in ("c2s", "s2c"):
            before = view.conversation
            after = (view.sent if record["dir"] == "c2s" else view.received)(line_of(record), record.get("t"))
            told += [event.to_json() for event in differences(before, after)]
    counts = {}
    for event in told:
        counts[event["type"]] = counts.get(event["type"], 0) + 1
    assert counts == session["events"]
    assert hashlib.sha256(canonical(told).encode()).hexdigest()[:16] == session["digest"]


class AsyncRunAdapter:
    """Adapts a run of the agent for threads to the interface of the asynchronous one."""

    def __init__(self, run):
        self.outcome = run.outcome
        self._run = run

    async def __aiter__(self):
        for event in self._run:
            yield event

    async def result(self):
        return self._run.result(timeout=LIMIT)


class Threads:
    """Adapts the agent for threads to the interface of the asynchronous one."""

    def __init__(self, agent):
        self.agent = agent

    def __getattr__(self, name):
        value = getattr(self.agent, name)
        if not callable(value) or name in ("supports", "as_client", "events"):
            return value

        async def call(*given, **named):
            result = value(*given, **named)
            return AsyncRunAdapter(result) if isinstance(result, anything.Run) else result

        return call

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.agent.close()


async def over_threads(command, **given):
    return Threads(anything.Agent.spawn(command, **given))


KINDS = {"threads": over_threads, "asyncio": anything.AsyncAgent.spawn}

AGENTS = [
    ("pi", "pi", "bash"),
    ("pi@1.5", "pi", "bash"),
    ("omp", "omp", "bash"),
    # An idle pisces cannot be distinguished from omp.
    ("pisces", "omp", "bash"),
    ("operator", "operator", "bash"),
    ("opal", "opal", "shell"),
]
"""Each row: dialect of the agent, detected dialect, and name of the shell tool."""


@pytest.fixture(params=KINDS)
def start(request, agent, tmp_path):
    """Returns a function that starts the reference agent in a dialect, with a scripted model."""

    def started(speaks, script, **given):
        (tmp_path / "work").mkdir()
        (tmp_path / "script.json").write_text(json.dumps(script))
        command = [agent[0], "--mode", "rpc", "--dialect", speaks, "--script", str(tmp_path / "script.json")]
        clean = {"env": {"HOME": str(tmp_path)}, "env_remove": ["AGENTESE_HOME", "OPAL_HOME"], "cwd": tmp_path / "work"}
        return KINDS[request.param](command, **clean, **given)

    return started


def play(work):
    async def limited():
        await asyncio.wait_for(work, LIMIT)

    asyncio.run(limited())


def texts_of(agent, role):
    return [message.text for message in agent.conversation.messages if message.role == role]


async def until(run, kind):
    async for event in run:
        if event.type == kind:
            return


async def all_events(run):
    return [event async for event in run]


@pytest.mark.parametrize("dialect, seen, tool", AGENTS, ids=[row[0] for row in AGENTS])
def test_a_run_has_limits(start, dialect, seen, tool):
    calls = [{"tool": {"id": f"call-{at}", "name": tool, "args": {"command": f"echo {at}"}}} for at in range(3)]
    script = {"responses": [{"blocks": [call]} for call in calls], "default": {"text": "never"}}

    async def talk():
        async with await start(dialect, script) as agent:
            run = await agent.prompt("go", limits=RunLimits(max_turns=2))
            with pytest.raises(RunFailedError, match="it has had 2 turns, which is its limit") as failed:
                await run.result()
            assert failed.value.code == "max_turns"

    play(talk())


@pytest.mark.parametrize("dialect, seen, tool", AGENTS, ids=[row[0] for row in AGENTS])
def test_events_arrive_in_order(start, dialect, seen, tool):
    script = {
        "responses": [
            {
                "blocks": [
                    {"thinking": ["Hm. ", "Yes."]},
                    {"text": ["One. ", "Two."]},
                    {"tool": {"id": "call-1", "name": tool, "args": {"command": "echo hi"}}},
                ]
            },
            {"blocks": [{"text": ["Done."]}], "usage": {"input": 50, "output": 5}},
        ]
    }

    async def talk():
        async with await start(dialect, script) as agent:
            assert agent.dialect == seen
            run = await agent.prompt("Hello")
            told = await all_events(run)
            assert (await run.result()).text == "Done."
            grown = {kind: "".join(event.text for event in told if event.type == kind) for kind in ("textGrew", "thinkingGrew")}
            assert grown == {"textGrew": "One. Two.Done.", "thinkingGrew": "Hm. Yes."}

            def at(kind, **members):
                fits = [
                    place
                    for place, event in enumerate(told)
                    if event.type == kind and all(getattr(event, name) == value for name, value in members.items())
                ]
                return fits

            ended = [(place, told[place].message.role) for place in at("messageEnded")]
            [tool_ended] = at("toolEnded", state="done")
            assert "hi" in json.dumps(told[tool_ended].to_json())
            places = [
                next(place for place, role in ended if role == "user"),
                at("messageBegan", role="assistant")[0],
                at("textGrew")[0],
                at("toolStarted", name=tool)[0],
                tool_ended,
                next(place for place, role in reversed(ended) if role == "assistant"),
                at("state", state="idle")[-1],
            ]
            assert places == sorted(places), told
            assert texts_of(agent, "user") == ["Hello"]
            if agent.supports("messages"):
                said = [message for message in await agent.messages() if message.role == "assistant"]
                assert len(said) == len(texts_of(agent, "assistant"))
            state = await agent.state()
            assert state.working is False
            if agent.supports("stats"):
                # Operator has no statistics; its state reports the number of entries.
                counted = (await agent.stats()).messages
                assert counted == (None if seen == "operator" else state.messages)
                assert isinstance(counted, int) is (seen != "operator")

    play(talk())


@pytest.mark.parametrize("dialect, seen, tool", AGENTS, ids=[row[0] for row in AGENTS])
def test_a_run_is_steered_and_stopped(start, tmp_path, dialect, seen, tool):
    script = {
        "responses": [
            {"blocks": [{"text": ["First."]}, {"tool": {"id": "c", "name": tool, "args": {"command": "until [ -e go ]; do sleep 0.01; done"}}}]},
            {"when": {"user": "other way"}, "text": "Changed."},
            {"when": {"user": "Go on"}, "blocks": [{"text": ["a "] * 400}], "delay_ms": 25},
        ],
        "default": {"text": "Then."},
    }

    async def talk():
        async with await start(dialect, script) as agent:
            run = await agent.prompt("Hello")
            # The client detects the revision from the events that arrive.
            await until(run, "textGrew")
            if agent.supports("steer"):
                assert await agent.steer("other way") in ("queued", None)
                (tmp_path / "work/go").touch()
                assert (await run.result()).text == "Changed."
                assert texts_of(agent, "user") == ["Hello", "other way"]
            else:
                (tmp_path / "work/go").touch()
                await run.result()
            slow = await agent.prompt("Go on")
            await until(slow, "textGrew")
            await agent.abort()
            await slow.result()
            assert (await agent.state()).working is False
            assert agent.conversation.run.state == "idle"

    play(talk())


@pytest.mark.parametrize("dialect, seen, tool", AGENTS, ids=[row[0] for row in AGENTS])
def test_unsupported_intent_is_rejected_before_sending(start, dialect, seen, tool):
    async def talk():
        async with await start(dialect, {"responses": []}) as agent:
            if agent.supports("models"):
                assert any(model.id == "scripted" for model in await agent.models())
            for intent in INTENTS:
                if not agent.supports(intent):
                    with pytest.raises(NotInDialectError, match=seen) as told:
                        await agent.call(intent)
                    assert told.value.intent == intent and intent in str(told.value)
            assert agent.conversation.notices == ()
            classes = [(pi.Client, pi.AsyncClient), (omp.Client, omp.AsyncClient), (opal.Client, opal.AsyncClient)]
            typed = [any(agent.as_client(kind) for kind in both) for both in classes]
            assert typed == [name == seen for name in ("pi", "omp", "opal")]
            with pytest.raises(ValueError, match="unknown intent `follow_upp`; did you mean `followUp`"):
                agent.supports("follow_upp")

    play(talk())


def test_questions_have_one_neutral_form(start):
    questions = []

    def on_question(question):
        questions.append(question)
        return question.options[1]

    call = {"id": "q", "name": "ask_user", "args": {"question": "Which colour?", "choices": ["red", "blue"]}}
    script = {"responses": [{"blocks": [{"tool": call}]}, {"text": "Thanks."}]}

    async def talk():
        async with await start("opal", script, on_question=on_question) as agent:
            told = await all_events(await agent.prompt("Ask"))
            kinds = [event.type for event in told]
            assert 0 <= kinds.index("asked") < kinds.index("answered")
            assert "blue" in json.dumps(next(event for event in told if event.type == "toolEnded").to_json())

    play(talk())
    [question] = questions
    assert (question.kind, question.title, question.options) == ("select", "Which colour?", ("red", "blue"))


def test_tracker_follows_another_session_of_the_connection(start):
    async def talk():
        async with await start("opal", {"responses": [{"text": "One."}, {"text": "Two."}]}) as agent:
            await all_events(await agent.prompt("First"))
            first = agent.conversation.session.id
            assert await agent.new_session()
            await all_events(await agent.prompt("Second"))
            assert texts_of(agent, "user") == ["Second"]
            assert first in [kept.session for kept in await agent.list_sessions()]

    play(talk())


def test_named_revision_is_used_and_termination_ends_every_wait(start):
    async def talk():
        agent = await start("pi@1.5", {"responses": []}, dialect="pi@1.5")
        async with agent:
            assert (agent.client.revision, agent.supports("tree")) == ("pi@1.5", True)
            events = agent.events()
        with pytest.raises(TerminatedError):
            next(events) if isinstance(agent, Threads) else await anext(events)
        assert agent.termination.closed_by_us
        with pytest.raises(ValueError, match='unknown dialect "nothing"; known: pi, omp'):
            anything.Agent.spawn(["true"], dialect="nothing")

    play(talk())


async def until_settled(events):
    """Returns the events of a typed client, up to the end of the run."""
    heard = []
    while not heard or heard[-1].type != "settled":
        heard.append(next(events) if isinstance(events, Iterator) else await anext(events))
    return heard


@pytest.mark.parametrize("kind", KINDS)
def test_live_operator_is_detected_without_exposing_its_key(kind):
    program = ROOT / "conformance/tests/independent_agents/agents/operator_live.py"
    key = "made-up-provider-key-0123"

    async def talk():
        command = [sys.executable, str(program)]
        async with await KINDS[kind](command, on_question=lambda question: question.options[1]) as agent:
            assert agent.dialect == "operator"
            heard = agent.client.events()
            run = await agent.prompt("ask tool retry")
            told = [event.to_json() for event in await all_events(run)]
            assert (await run.result()).text == "You said right."
            assert agent.client.revision == "operator@live"
            assert "toolEnded" in [event["type"] for event in told]
            assert key not in json.dumps(told)
            # The frame with the key has arrived. The events below must not contain the key.
            raw = [event.raw for event in await until_settled(heard)]
            assert '{"type":"before_provider_request"}' in raw and not any(key in text for text in raw)

    play(talk())


def test_trio_drives_an_agent_too(agent):
    async def main():
        with trio.fail_after(LIMIT):
            async with await anything.AsyncAgent.spawn(agent) as connected:
                run = await connected.prompt("Hello")
                told = [event.type async for event in run]
                assert told.index("messageBegan") < told.index("textGrew") < told.index("messageEnded", told.index("textGrew"))
                assert (await run.result()).text

    trio.run(main)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", [["cat"], ["sh", "-c", "echo '{\"hello\":1}'"], ["true"]], ids=["echo", "odd", "ended"])
def test_agent_of_an_unknown_dialect_is_not_detected(kind, command):
    async def talk():
        with pytest.raises(NotRecognisedError, match="not recognised"):
            await KINDS[kind](command, detect_within=2)

    play(talk())


ACP_AGENT = """
import json, sys
for line in sys.stdin:
    frame = json.loads(line)
    error = {"code": -32601, "message": "Method not found"}
    answer = {"result": {"protocolVersion": 1}} if frame.get("method") == "initialize" else {"error": error}
    print(json.dumps({"jsonrpc": "2.0", "id": frame["id"], **answer}), flush=True)
"""

BRIDGE = "agentese bridge --to pi@1.5 --from acp --"


@pytest.mark.parametrize("kind", KINDS)
def test_agent_of_acp_is_detected_and_the_error_explains_the_bridge(kind):
    command = [sys.executable, "-c", ACP_AGENT]

    async def talk():
        with pytest.raises(NotRecognisedError, match=BRIDGE):
            await KINDS[kind](command)
        for dialect in ("acp", "acp@1"):
            with pytest.raises(ValueError, match=BRIDGE):
                await KINDS[kind](command, dialect=dialect)
        with pytest.raises(ValueError, match='unknown dialect "odd"; known: pi, omp, pisces, operator, opal'):
            await KINDS[kind](command, dialect="odd")

    play(talk())


def test_agent_behind_a_socket_is_detected_without_losing_events():
    ours, theirs = socket.socketpair()
    state = {
        "thinkingLevel": "medium", "isStreaming": False, "isCompacting": False, "steeringMode": "all", "followUpMode": "all",
        "sessionId": "s", "autoCompactionEnabled": True, "messageCount": 0, "pendingMessageCount": 0,
    }  # fmt: skip
    failure = {"type": "extension_error", "extensionPath": "/x.ts", "event": "input", "error": "no"}

    def serve():
        with theirs, theirs.makefile("rwb") as lines:
            lines.write(json.dumps(failure).encode() + b"\n")
            for line in lines:
                frame = json.loads(line)
                answer = {"id": frame["id"], "type": "response", "command": frame.get("type"), "success": True, "data": state}
                refusal = {"type": "response", "command": "unknown", "success": False, "error": "no"}
                lines.write(json.dumps(answer if frame.get("type") == "get_state" else refusal).encode() + b"\n")
                lines.flush()

    thread = threading.Thread(target=serve)
    thread.start()
    with ours:
        with anything.Agent.connect(ours) as agent:
            assert agent.dialect == "pi"
            assert agent.state().thinking_level == "medium"
            assert [notice.text for notice in agent.conversation.notices] == ["no"]
    thread.join(LIMIT)


class PlayedAgent:
    """An agent that the test plays itself, at the other end of a socket."""

    def __init__(self, dialect):
        ours, self.theirs = socket.socketpair()
        self.theirs.settimeout(LIMIT)
        self.lines = self.theirs.makefile("rb")
        self.agent = anything.Agent.connect(ours, dialect=dialect)
        self.ours = ours

    def receive(self):
        return json.loads(self.lines.readline())

    def send(self, frame):
        self.theirs.sendall(json.dumps(frame).encode() + b"\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.theirs.shutdown(socket.SHUT_RDWR)
        self.agent.close()
        for end in (self.lines, self.theirs, self.ours):
            end.close()


@pytest.mark.parametrize(
    "dialect, intent, given, param",
    [
        ("omp", "bash", {"command": "ls"}, "hidden"),
        # The client does not know yet that the agent's revision has this parameter.
        ("pi", "bash", {"command": "ls"}, "hidden"),
        ("pi@0.55", "bash", {"command": "ls"}, "hidden"),
        ("opal", "compact", {}, "instructions"),
        ("operator", "follow_up", {"text": "hi"}, "images"),
        ("pi", "abort", {}, "made_up"),
    ],
)
def test_unsupported_parameter_is_rejected_before_sending(dialect, intent, given, param):
    with PlayedAgent(dialect) as played:
        with pytest.raises(NotInDialectError) as told:
            played.agent.call(intent, **given, since=None, **{param: True})
        name = {"made_up": "madeUp"}.get(param, param)
        assert told.value.param == name and f"`{name}`" in str(told.value) and str(told.value).startswith(dialect)
        closing = threading.Thread(target=played.agent.close)
        closing.start()
        # The client writes on a thread of its own, so the test reads until the end of its output.
        assert played.lines.read() == b""
        played.theirs.shutdown(socket.SHUT_RDWR)
        closing.join(LIMIT)


def test_supported_parameter_is_sent_and_unsupported_hint_is_omitted():
    hidden = {"command": "ls", "hidden": True}
    for dialect, intent, given, sent in [
        ("pi@1.5", "bash", hidden, {"command": "ls", "excludeFromContext": True}),
        ("operator", "prompt", {"text": "hi", "when_busy": "steer"}, {"message": "hi", "text": "hi"}),
    ]:
        with PlayedAgent(dialect) as played:
            failed = []

            def call(played=played, intent=intent, given=given, failed=failed):
                try:
                    played.agent.call(intent, **given)
                except TerminatedError as error:
                    failed.append(error)

            thread = threading.Thread(target=call)
            thread.start()
            heard = played.receive()
            assert {name: value for name, value in heard.items() if name not in ("id", "type")} == sent
        thread.join(LIMIT)
        assert failed


def test_commands_go_to_the_session_whose_concurrent_opening_is_answered_last():
    with PlayedAgent("opal") as played:
        threads = [threading.Thread(target=played.agent.open_session, args=(name,)) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        asked = {frame["params"]["session_id"]: frame["id"] for frame in (played.receive(), played.receive())}
        for name in ("two", "one"):
            result = {"session_id": name, "context_files": []}
            played.send({"jsonrpc": "2.0", "id": asked[name], "result": result})
        for thread in threads:
            thread.join(LIMIT)
        assert played.agent.conversation.session.id == "one"
        aborting = threading.Thread(target=played.agent.abort)
        aborting.start()
        abort = played.receive()
        assert abort["params"]["session_id"] == "one"
        played.send({"jsonrpc": "2.0", "id": abort["id"], "result": {}})
        aborting.join(LIMIT)


def test_rejected_command_raises_and_emits_a_notice(start):
    async def talk():
        async with await start("pi", {"responses": []}) as agent:
            with pytest.raises(RefusedError) as told:
                await agent.set_model("nobody", "nothing")
            assert told.value.command == "set_model" and "nobody/nothing" in str(told.value)
            assert [notice.level for notice in agent.conversation.notices] == ["error"]

    play(talk())
