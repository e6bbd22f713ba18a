"""Looking at every frame that passes."""

import json

import pytest
from support.driver import BOTH
from support.peer import STATE, playing

from agentese import pi

KEY = "sk-ant-" + "0123456789" * 3


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
class TestTap:
    def test_every_frame_is_shown_in_order_without_keys(self, kind):
        def script(peer):
            call = peer.hear()
            peer.say({"type": "agent_start"}, {"type": "extension_error", "extensionPath": "", "event": "", "error": KEY})
            peer.answer(call, data=STATE)
            peer.rest()

        seen = []
        tap = lambda direction, text: seen.append((direction, text))  # noqa: E731
        with playing(script) as end, kind().connect(pi, end, on_frame=tap) as client:
            client.call("get_state")
            client.call("request", "odd", {"apiKey": KEY})
            assert client.client.dropped_frames == 0
        # Closed: all have been shown.
        assert [direction for direction, _ in seen] == ["sent", *["received"] * 3, "sent", "received"]
        frames = [json.loads(text) for _, text in seen]
        assert [frame["type"] for frame in frames][:5] == ["get_state", "agent_start", "extension_error", "response", "odd"]
        assert frames[2]["error"] == frames[4]["apiKey"] == "[redacted]"
        assert KEY not in str(seen)

    def test_fm_F43_one_that_raises_is_not_called_again(self, kind, caplog):
        calls = []

        def tap(direction, text):
            calls.append(text)
            raise RuntimeError("no")

        with playing(lambda peer: peer.rest()) as end, kind().connect(pi, end, on_frame=tap) as client:
            for _ in range(3):
                assert client.call("get_state").message_count == 7
        assert len(calls) == 1
        assert caplog.text.count("is not called again") == 1

    def test_one_that_is_slow_holds_up_nobody(self, kind):
        def script(peer):
            call = peer.hear()
            peer.say({"type": "extension_error", "extensionPath": "", "event": "", "error": "x" * (12 << 20)})
            peer.say(*[{"type": "extension_error", "extensionPath": "", "event": "", "error": "x" * (1 << 20)}] * 20)
            peer.answer(call, data=STATE)
            peer.rest()

        import threading

        go_on = threading.Event()
        sizes = []

        def tap(direction, text):
            sizes.append(len(text))
            if kind.name == "threads":
                assert go_on.wait(10)

        with playing(script) as end, kind().connect(pi, end, on_frame=tap) as client:
            try:
                assert client.call("get_state").message_count == 7
            finally:
                go_on.set()
            dropped = client.client.dropped_frames
        if kind.name == "threads":
            assert dropped > 0
        assert len(sizes) + dropped >= 22
