"""The module `agentese.testing`, with helpers for tests of programs that use a client.
"""

import json

import pytest
from conftest import ROOT
from support.driver import BOTH, LIMIT

from agentese import EncodeError, RefusedError, omp, opal, pi, testing

FOLDER = ROOT / "conformance/transcripts"
HELLO = [
    {"format": "agentese-transcript"},
    {"dir": "c2s", "line": '{"id":"p1","type":"prompt","message":"hello"}'},
    {"dir": "s2c", "line": '{"id":"p1","type":"response","command":"prompt","success":true}'},
    {"dir": "s2c", "line": '{"type":"agent_start"}'},
    {"dir": "s2c", "line": '{"type":"agent_end","messages":[]}'},
]


class Parrot(pi.Service):
    said = None

    async def prompt(self, params, call):
        call.answer()
        await call.emit(pi.AgentStart())
        self.said = params.message
        await call.emit(pi.AgentEnd(messages=[]))

    async def get_last_assistant_text(self, call):
        return {"text": self.said}


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
class TestTesting:
    def test_an_agent_in_memory(self, kind):
        with testing.memory_agent(Parrot()) as agent, kind().connect(pi, agent) as client:
            run = client.call("prompt", "Hello")
            assert [event.type for event in client.events(run)] == ["agent_start", "agent_end"]
            assert client.call("get_last_assistant_text").text == "Hello"

    def test_a_recording(self, kind):
        with testing.replay(pi, [json.dumps(record) for record in HELLO]) as agent, kind().connect(pi, agent) as client:
            run = client.call("prompt", "anything")
            assert [event.type for event in client.events(run)] == ["agent_start", "agent_end"]

    @pytest.mark.parametrize("dialect", [pi, omp, opal], ids=["pi", "omp", "opal"])
    def test_a_command_that_is_not_recorded_fails_with_its_name(self, kind, dialect):
        with testing.replay(dialect, []) as agent, kind().connect(dialect, agent) as client:
            name = "opal_ping" if dialect is opal else "get_messages"
            with pytest.raises(RefusedError, match="the transcript has no answer to `(opal/ping|get_messages)`"):
                client.call(name)

    def test_a_client_that_ends_early_fails_the_test(self, kind):
        lines = [json.dumps(record) for record in HELLO]
        with pytest.raises(AssertionError, match="the client ended before the transcript; the next command is .*hello"):
            with testing.replay(pi, lines) as agent, kind().connect(pi, agent):
                pass

    def test_a_recorded_file_of_a_real_agent(self, kind):
        path = FOLDER / "pi/prompt-text-anthropic.jsonl"
        with testing.replay(pi, path) as agent, kind().connect(pi, agent) as client:
            assert client.call("get_state") == client.call("get_state")
            assert client.call("ask", "Say hello") == "Hello, world!"
            assert client.call("get_state").message_count == 2
            assert len(client.call("get_messages").messages) == 2
            assert client.call("get_last_assistant_text").text == "Hello, world!"

    def test_a_handler_that_fails_fails_the_test(self, kind):
        class Broken(pi.Service):
            async def prompt(self, params, call):
                call.answer()
                await call.emit({"type": "message_update", "message": 7})

        with pytest.raises(EncodeError, match="the event does not fit its declaration"):
            with testing.memory_agent(Broken()) as agent, kind().connect(pi, agent) as client:
                client.call("ask", "Hello", timeout=LIMIT)
