"""Limits of a run, for both clients. The client aborts the run, which fails with the name of the
limit.
"""

import pytest
from support.driver import BOTH, LIMIT
from support.peer import STATE, playing

from agentese import RunFailedError, RunLimits, UsageError, opal, pi

IDLE = {**STATE, "isStreaming": False}


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
def test_a_run_that_reaches_a_limit_is_stopped_and_fails_with_the_limits_name(kind):
    def script(peer):
        peer.answer(peer.receive())
        peer.send({"type": "agent_start"}, *[{"type": "turn_start"}] * 3)
        abort = peer.receive()
        assert abort["type"] == "abort"
        peer.send({"type": "agent_end", "messages": []})
        peer.answer(abort)
        peer.answer(peer.receive(), data=IDLE)
        peer.serve_until_closed()

    with playing(script) as end, kind().connect(pi, end, timeout=LIMIT) as client:
        run = client.call("prompt", "go", limits=RunLimits(max_turns=2))
        with pytest.raises(RunFailedError, match="it has had 2 turns, which is its limit") as failed:
            client.result(run)
        assert (failed.value.code, failed.value.retryable) == ("max_turns", False)


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
def test_time_stops_a_run(kind):
    def script(peer):
        peer.answer(peer.receive())
        peer.send({"type": "agent_start"})
        abort = peer.receive()
        peer.send({"type": "agent_end", "messages": []})
        peer.answer(abort)
        peer.answer(peer.receive(), data=IDLE)
        peer.serve_until_closed()

    with playing(script) as end, kind().connect(pi, end, timeout=LIMIT) as client:
        run = client.call("prompt", "go", limits=RunLimits(max_time=0.02))
        with pytest.raises(RunFailedError, match="it has lasted 0.02 s, which is its limit") as failed:
            client.result(run)
        assert failed.value.code == "max_time"


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
def test_limit_on_unreported_value_is_rejected(kind):
    with playing(lambda peer: peer.serve_until_closed()) as end, kind().connect(opal, end, timeout=LIMIT) as client:
        with pytest.raises(UsageError, match="do not report a run's cost: leave max_cost out"):
            client.call("agent_prompt", session_id="s", text="go", limits=RunLimits(max_cost=1.0))
