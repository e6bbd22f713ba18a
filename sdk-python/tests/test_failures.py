"""Documented failures have exception classes of their own."""

import copy
import json
import pickle

import pytest
from conftest import ROOT
from support.driver import BOTH, DIALECTS
from support.peer import playing

from agentese import RefusedError, pi
from agentese.generated.failures import FAILURES

MODEL = json.loads((ROOT / "protocol/model.json").read_text())


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
class TestFailures:
    def test_a_documented_failure_has_its_type(self, kind):
        def script(peer):
            peer.reject(peer.receive(), "No API key found for anthropic.\n\nUse /login or set an API key environment variable. See /tmp/x")
            peer.reject(peer.receive(), "Model not found: a/b")
            peer.reject(peer.receive(), "something else")
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(pi, end) as client:
            with pytest.raises(pi.NoApiKey) as told:
                client.events(client.call("prompt", "hi"))
            assert told.value.kind == "no_api_key" and told.value.command == "prompt"
            with pytest.raises(pi.ModelNotFound):
                client.call("set_model", provider="a", model_id="b")
            with pytest.raises(RefusedError) as told:
                client.call("abort")
            assert type(told.value) is RefusedError and told.value.kind is None

    def test_the_agent_itself(self, kind, agent):
        with kind().spawn(pi, agent) as client, pytest.raises(pi.ModelNotFound, match="nowhere/nothing"):
            client.call("set_model", provider="nowhere", model_id="nothing")


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_every_documented_failure_is_a_type_of_its_dialect(dialect):
    model = next(model for model in MODEL["dialects"] if model["name"] == dialect)
    kinds = {error["kind"] for row in [*model["commands"], model] for error in row.get("errors", [])}
    assert len(kinds) >= 4
    for name in kinds:
        failure = FAILURES[name]
        assert getattr(DIALECTS[dialect], failure.__name__) is failure
        assert issubclass(failure, RefusedError) and failure.kind == name and failure.__doc__
        error = failure("no", command="prompt", message="no")
        for again in [pickle.loads(pickle.dumps(error)), copy.copy(error)]:  # noqa: S301
            assert type(again) is failure and again.command == "prompt"
