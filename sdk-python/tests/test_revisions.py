"""One client for all revisions of a dialect."""

import pytest
from support.driver import BOTH, LIMIT
from support.peer import STATE, playing

from agentese import NotInRevisionError, RefusedError, UsageError, operator, pi

BOTH_CLIENTS = pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)


@BOTH_CLIENTS
def test_a_command_that_the_named_revision_lacks_is_not_sent(kind):
    def script(peer):
        call = peer.hear()
        assert call["type"] == "get_state"
        peer.answer(call, data=STATE)
        peer.rest()

    with playing(script) as end, kind().connect(pi, end, revision="0.55", timeout=LIMIT) as client:
        with pytest.raises(NotInRevisionError, match="it is in pi@1.5, pi@1.6") as told:
            client.call("get_tree")
        assert (told.value.command, told.value.revision, told.value.known) == ("get_tree", "pi@0.55", "pi@1.5, pi@1.6")
        assert client.call("get_state").message_count == STATE["messageCount"]


@BOTH_CLIENTS
def test_an_unknown_command_of_another_revision_is_the_same_failure_and_tells_the_revision(kind):
    def script(peer):
        peer.refuse(peer.hear(), "Unknown command: clear_queue")
        peer.refuse(peer.hear(), "Unknown command: get_state")
        peer.rest()

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
def test_of_revisions_with_the_same_frames_the_oldest_is_meant_unless_one_is_named(kind, named, wanted):
    def script(peer):
        peer.say({"type": "agent_settled", "aborted": False})
        peer.answer(peer.hear(), data=STATE)
        peer.rest()

    options = {} if named is None else {"revision": named}
    with playing(script) as end, kind().connect(pi, end, timeout=LIMIT, **options) as client:
        client.call("get_state")
        assert client.client.revision == wanted
        assert "other_revision" not in [found for found, _ in client.client.diagnostics()]


@BOTH_CLIENTS
def test_the_events_of_every_revision_have_their_classes(kind):
    def script(peer):
        peer.say({"type": "agent_settled", "aborted": False})
        peer.answer(peer.hear(), data=STATE)
        peer.rest()

    with playing(script) as end, kind().connect(pi, end, revision="pi@0.55", timeout=LIMIT) as client:
        client.call("get_state")
        assert ("other_revision", "the agent speaks pi@1.5, not pi@0.55") in client.client.diagnostics()
        assert "unknown_frame" not in [found for found, _ in client.client.diagnostics()]


def test_an_unknown_revision_is_refused_with_the_known_ones():
    with playing(lambda peer: peer.rest()) as end, pytest.raises(UsageError, match=r"0\.55, 1\.5"):
        pi.Client.connect(end, revision="9.9")


@BOTH_CLIENTS
def test_a_line_that_a_live_operator_would_not_read_is_not_sent(kind):
    half, seen = "y" * 40_000, []

    def script(peer):
        call = peer.hear()
        assert (call["text"] == half, call.get("message")) == (True, None)
        peer.answer(call)
        sealed = {"type": "before_provider_request", "options": {"of": "very-private"}}
        peer.say({"type": "agent_start"}, sealed, {"type": "settled"})
        call = peer.hear()
        assert (call["type"], call["message"]) == ("steer", half)
        peer.answer(call)
        peer.rest()

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
