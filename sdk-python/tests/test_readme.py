"""Statements of the README about failures that no other test covers."""

import pytest
from support.driver import BOTH
from support.peer import STATE, playing

from agentese import EncodeError, RunFailedError, TimedOutError, pi

pytestmark = pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)

FAILED = {
    "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m", "usage": {"input": 0, "output": 0,
    "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
    "total": 0}}, "stopReason": "error", "errorMessage": "overloaded", "timestamp": 0,
}  # fmt: skip


def fails(peer):
    """Plays an agent whose runs all fail."""
    while True:
        command = peer.receive()
        if command["type"] == "prompt":
            peer.answer(command)
            peer.send({"type": "agent_start"}, {"type": "message_end", "message": FAILED})
            peer.send({"type": "agent_end", "messages": [FAILED]})
        else:
            peer.answer(command, data={**STATE, "isStreaming": False})


@pytest.mark.parametrize("how", ["ask", "text", "result", "loop"])
def test_every_reader_of_a_run_raises_its_failure(kind, how):
    with playing(fails) as end, kind().connect(pi, end) as client:
        with pytest.raises(RunFailedError, match="overloaded") as failed:
            if how == "ask":
                client.call("ask", "hi")
            else:
                run = client.call("prompt", "hi")
                read = {"text": lambda: run.text(), "result": lambda: run.result(), "loop": lambda: None}[how]
                if how == "loop":
                    client.events(run)
                elif kind.name == "threads":
                    read()
                else:
                    client.run(read())
        assert failed.value.message == "overloaded"
        result = client.wait(client.call("prompt", "hi"))
        assert result.failure is not None and result.failure.message == "overloaded" and not result.aborted


@pytest.mark.parametrize("how", ["text", "result"])
def test_run_continues_after_a_result_timeout(kind, how):
    heard = []

    def script(peer):
        peer.answer(peer.receive())
        peer.send({"type": "agent_start"})
        while True:
            heard.append(peer.receive())
            peer.answer(heard[-1], **({"data": STATE} if heard[-1]["type"] == "get_state" else {}))

    with playing(script) as end, kind().connect(pi, end) as client:
        run = client.call("prompt", "hi")
        with pytest.raises(TimedOutError):
            if kind.name == "threads":
                getattr(run, how)(timeout=0.05)
            else:
                client.run(getattr(run, how)(timeout=0.05))
        client.call("get_state")
        assert [command["type"] for command in heard] == ["get_state"]
        if kind.name == "threads":
            run.abort()
        else:
            client.run(run.abort())
        assert [command["type"] for command in heard][:2] == ["get_state", "abort"]


def test_a_parameter_that_does_not_fit_is_not_sent(kind):
    heard = []

    def script(peer):
        heard.append(peer.receive())
        peer.answer(heard[-1], data=STATE)
        peer.serve_until_closed()

    with playing(script) as end, kind().connect(pi, end) as client:
        with pytest.raises(EncodeError):
            client.call("set_session_name", 5)
        client.call("get_state")
    assert [command["type"] for command in heard] == ["get_state"]
