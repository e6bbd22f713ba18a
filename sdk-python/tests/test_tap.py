"""Observers: frames, lines of stderr, the debug log."""

import json
import logging
import sys

import pytest
from support.driver import BOTH, LIMIT
from support.peer import STATE, playing

from agentese import pi

KEY = "sk-ant-" + "0123456789" * 3


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
class TestTap:
    def test_every_frame_is_shown_in_order_without_keys(self, kind):
        def script(peer):
            call = peer.receive()
            peer.send({"type": "agent_start"}, {"type": "extension_error", "extensionPath": "", "event": "", "error": KEY})
            peer.answer(call, data=STATE)
            peer.serve_until_closed()

        seen = []
        tap = lambda direction, text: seen.append((direction, text))  # noqa: E731
        with playing(script) as end, kind().connect(pi, end, on_frame=tap) as client:
            client.call("get_state")
            client.call("request", "odd", {"apiKey": KEY})
            assert client.client.dropped_frames == 0
        # The client has ended, so `on_frame` has received all frames.
        assert [direction for direction, _ in seen] == ["sent", *["received"] * 3, "sent", "received"]
        frames = [json.loads(text) for _, text in seen]
        assert [frame["type"] for frame in frames][:5] == ["get_state", "agent_start", "extension_error", "response", "odd"]
        assert frames[2]["error"] == frames[4]["apiKey"] == "[redacted]"
        assert KEY not in str(seen)

    def test_fm_F43_raising_tap_is_not_called_again(self, kind, caplog):
        calls = []

        def tap(direction, text):
            calls.append(text)
            raise RuntimeError("no")

        with playing(lambda peer: peer.serve_until_closed()) as end, kind().connect(pi, end, on_frame=tap) as client:
            for _ in range(3):
                assert client.call("get_state").message_count == 7
        assert len(calls) == 1
        assert caplog.text.count("is not called again") == 1

    def test_slow_tap_blocks_no_other_work(self, kind):
        def script(peer):
            call = peer.receive()
            peer.send({"type": "extension_error", "extensionPath": "", "event": "", "error": "x" * (12 << 20)})
            peer.send(*[{"type": "extension_error", "extensionPath": "", "event": "", "error": "x" * (1 << 20)}] * 20)
            peer.answer(call, data=STATE)
            peer.serve_until_closed()

        import threading

        go_on = threading.Event()
        sizes = []

        def tap(direction, text):
            sizes.append(len(text))
            if kind.name == "threads":
                assert go_on.wait(LIMIT)

        with playing(script) as end, kind().connect(pi, end, on_frame=tap) as client:
            try:
                assert client.call("get_state").message_count == 7
            finally:
                go_on.set()
            dropped = client.client.dropped_frames
        if kind.name == "threads":
            assert dropped > 0
        assert len(sizes) + dropped >= 22

    def test_lines_of_stderr_are_shown(self, kind):
        code = "import sys; [print(f'line {n}', file=sys.stderr, flush=True) for n in range(3)]; sys.stdin.read()"
        seen, frames = [], []
        options = {"on_stderr": seen.append, "on_frame": lambda *frame: frames.append(frame)}
        with kind().spawn(pi, [sys.executable, "-c", code], **options):
            pass
        assert seen == ["line 0", "line 1", "line 2"] and frames == []

    def test_raising_tap_does_not_stop_the_other(self, kind, caplog):
        code = "import sys; print('oops', file=sys.stderr, flush=True); sys.stdin.readline(); print('{\"type\":\"agent_start\"}', flush=True); sys.stdin.read()"
        frames = []

        def bad(line):
            raise RuntimeError("no")

        options = {"on_stderr": bad, "on_frame": lambda *frame: frames.append(frame)}
        with kind().spawn(pi, [sys.executable, "-c", code], **options) as client:
            events = client.call("events")
            client.call("send_raw", "{}")
            client.take(events, 1)
        assert frames == [("sent", "{}"), ("received", '{"type":"agent_start"}')]
        assert caplog.text.count("on_stderr raised an exception and is not called again") == 1

    def test_the_debug_log_has_frames_stderr_and_diagnostics_without_keys(self, kind, caplog):
        code = f"import sys; print('warming up', file=sys.stderr, flush=True); sys.stdin.readline(); print('noise', flush=True); print('{{\"type\":\"agent_start\",\"apiKey\":\"{KEY}\"}}', flush=True); sys.stdin.read()"
        with caplog.at_level(logging.DEBUG, "agentese"), kind().spawn(pi, [sys.executable, "-c", code]) as client:
            events = client.call("events")
            client.call("send_raw", '{"type":"go"}')
            client.take(events, 1)
        for told in ['sent {"type":"go"}', "received ", "stderr warming up", "diagnostic noise: "]:
            assert told in caplog.text, told
        assert KEY not in caplog.text

    def test_no_frames_are_buffered_without_the_debug_log(self, kind, caplog):
        with caplog.at_level(logging.INFO, "agentese"), playing(lambda peer: peer.serve_until_closed()) as end:
            with kind().connect(pi, end) as client:
                assert client.call("get_state").message_count == 7
                assert client.client._connection.frames() == []
        assert not caplog.records
