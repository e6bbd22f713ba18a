"""One client for all revisions of a dialect."""

import pytest
from support.driver import BOTH, LIMIT
from support.peer import STATE, playing

from agentese import NotInRevisionError, RefusedError, UsageError, operator, pi

BOTH_CLIENTS = pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)


@BOTH_CLIENTS
def test_a_command_that_the_named_revision_lacks_is_not_sent(kind):
    def script(peer):
        call = peer.receive()
        assert call["type"] == "get_state"
        peer.answer(call, data=STATE)
        peer.serve_until_closed()

    with playing(script) as end, kind().connect(pi, end, revision="0.55", timeout=LIMIT) as client:
        with pytest.raises(NotInRevisionError, match="it is in pi@1.5, pi@1.6") as told:
            client.call("get_tree")
        assert (told.value.command, told.value.revision, told.value.known) == ("get_tree", "pi@0.55", "pi@1.5, pi@1.6")
        assert client.call("get_state").message_count == STATE["messageCount"]


@BOTH_CLIENTS
def test_unknown_command_error_names_the_other_revision(kind):
    def script(peer):
        peer.reject(peer.receive(), "Unknown command: clear_queue")
        peer.reject(peer.receive(), "Unknown command: get_state")
        peer.serve_until_closed()

    with playing(script) as end, kind().connect(pi, end, timeout=LIMIT) as client:
        assert client.client.revision is None
        with pytest.raises(NotInRevisionError):
            client.call("clear_queue")
        assert client.client.revision == "pi@0.55"
        with pytest.raises(NotInRevisionError):
            client.call("get_entries")
        with pytest.raises(RefusedError):
            client.call("get_state")


@BOTH_CLIENTS
@pytest.mark.parametrize(("named", "wanted"), [(None, "pi@1.5"), ("pi@1.5", "pi@1.5"), ("pi@1.6", "pi@1.6")])
def test_oldest_revision_is_chosen_among_equal_frames(kind, named, wanted):
    def script(peer):
        peer.send({"type": "agent_settled", "aborted": False})
        peer.answer(peer.receive(), data=STATE)
        peer.serve_until_closed()

    options = {} if named is None else {"revision": named}
    with playing(script) as end, kind().connect(pi, end, timeout=LIMIT, **options) as client:
        client.call("get_state")
        assert client.client.revision == wanted
        assert "other_revision" not in [found for found, _ in client.client.diagnostics()]


@BOTH_CLIENTS
def test_the_events_of_every_revision_have_their_classes(kind):
    def script(peer):
        peer.send({"type": "agent_settled", "aborted": False})
        peer.answer(peer.receive(), data=STATE)
        peer.serve_until_closed()

    with playing(script) as end, kind().connect(pi, end, revision="pi@0.55", timeout=LIMIT) as client:
        client.call("get_state")
        assert ("other_revision", "the agent speaks pi@1.5, not pi@0.55") in client.client.diagnostics()
        assert "unknown_frame" not in [found for found, _ in client.client.diagnostics()]


def test_an_unknown_revision_is_refused_with_the_known_ones():
    with playing(lambda peer: peer.serve_until_closed()) as end, pytest.raises(UsageError, match=r"0\.55, 1\.5"):
        pi.Client.connect(end, revision="9.9")


@BOTH_CLIENTS
def test_line_over_the_limit_of_live_operator_is_not_sent(kind):
    half, seen = "y" * 40_000, []

    def script(peer):
        call = peer.receive()
        assert (call["text"] == half, call.get("message")) == (True, None)
        peer.answer(call)
        sealed = {"type": "before_provider_request", "options": {"of": "very-private"}}
        peer.send({"type": "agent_start"}, sealed, {"type": "settled"})
        call = peer.receive()
        assert (call["type"], call["message"]) == ("steer", half)
        peer.answer(call)
        peer.serve_until_closed()

    def on_frame(direction, text):
        seen.append(text)

    with playing(script) as end, kind().connect(operator, end, timeout=LIMIT, on_frame=on_frame) as client:
        run = client.call("prompt", half)
        assert [event.type for event in client.events(run)] == ["agent_start", "before_provider_request", "settled"]
        assert client.client.revision == "operator@live"
        with pytest.raises(UsageError, match="operator@live reads 65536 at most"):
            client.call("steer", "x" * 70_000)
        client.call("steer", half)
    assert not any("very-private" in text for text in seen)
