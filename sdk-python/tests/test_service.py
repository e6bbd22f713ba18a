"""The class `Service` in every dialect."""

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.driver import BOTH, DIALECTS, LIMIT

from agentese import RefusedError, pi
from agentese.service import CommandError, serve_async

PARROT = Path(__file__).resolve().parents[1] / "examples/parrot.py"


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
def test_the_parrot_over_stdio(kind):
    with kind().spawn(pi, [sys.executable, str(PARROT)]) as client:
        assert client.call("get_last_assistant_text").text is None
        run = client.call("prompt", "Hello")
        assert [event.type for event in client.events(run)] == ["agent_start", "agent_end"]
        assert client.call("get_last_assistant_text").text == "Hello"
        with pytest.raises(RefusedError, match="not available"):
            client.call("get_session_stats")


def test_edges_over_stdio():
    lines = [
        '{"id":1,"type":"set_thinking_level","level":"loud"}', '{"id":2,"type":"nope"}', "not json", '{"id":{"any":1},"type":"get_last_assistant_text"}'
    ]
    ended = subprocess.run([sys.executable, PARROT], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=LIMIT)
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 0, ended.stderr
    assert [answer["success"] for answer in answers] == [False, False, False, True]
    assert "level" in answers[0]["error"] and answers[0]["id"] == 1
    assert answers[2]["command"] == "parse" and answers[3]["id"] == {"any": 1}


def served(service, drive):
    """Serves one end of a socket, and runs `drive` with the other end."""

    async def main():
        ours, theirs = socket.socketpair()
        with ours, theirs:
            serving = asyncio.create_task(serve_async(service, theirs))
            module = DIALECTS[service.dialect]
            async with module.AsyncClient.connect(ours) as client:
                result = await drive(client)
            ours.shutdown(socket.SHUT_RDWR)
            await serving
            return result

    return asyncio.run(asyncio.wait_for(main(), 30))


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_unimplemented_commands_are_rejected(dialect):
    module = DIALECTS[dialect]

    async def drive(client):
        with pytest.raises(RefusedError, match="not available"):
            name = "opal_ping" if dialect == "opal" else "abort"
            await getattr(client, name)()
        return True

    assert served(module.Service(), drive)


def test_values_that_violate_the_declaration_are_not_sent():
    class Wrong(pi.Service):
        async def get_last_assistant_text(self, call):
            return {"text": 7}

        async def get_session_stats(self, call):
            await call.emit({"type": "message_update", "message": 7})

        async def abort(self, call):
            raise CommandError("not now")

        async def get_messages(self, call):
            answer = await call.ask("confirm", {"title": "Sure?", "message": ""})
            return {"messages": [] if answer["confirmed"] else None}

    class Yes(pi.AsyncDialogs):
        async def confirm(self, dialog):
            return True

    async def drive(client):
        with pytest.raises(RefusedError, match="does not fit its declaration"):
            await client.get_last_assistant_text()
        with pytest.raises(RefusedError, match="failed inside the server"):
            await client.get_session_stats()
        with pytest.raises(RefusedError, match="not now"):
            await client.abort()
        return True

    assert served(Wrong(), drive)

    async def main():
        ours, theirs = socket.socketpair()
        with ours, theirs:
            serving = asyncio.create_task(serve_async(Wrong(), theirs))
            async with pi.AsyncClient.connect(ours, dialogs=Yes()) as client:
                assert (await client.get_messages()).messages == []
            ours.shutdown(socket.SHUT_RDWR)
            await serving

    asyncio.run(asyncio.wait_for(main(), 30))


def test_a_misspelt_method_is_refused():
    with pytest.raises(TypeError, match="`Typo.promt` is not a command; did you mean `prompt`"):

        class Typo(pi.Service):
            async def promt(self, params, call):
                pass

    with pytest.raises(TypeError, match="`Extra.restart_all` is not a command; begin the name of a helper with `_`"):

        class Extra(pi.Service):
            async def restart_all(self, params, call):
                pass

    with pytest.raises(TypeError, match="`MisspeltDialogs.confrim` is not a dialog; did you mean `confirm`"):

        class MisspeltDialogs(pi.AsyncDialogs):
            async def confrim(self, dialog):
                return True

    class Fine(pi.Service):
        name = "fine"

        async def prompt(self, params, call):
            await self._helper()

        async def _helper(self):
            pass

        def summary(self):
            return self.name

    assert Fine().summary() == "fine"
