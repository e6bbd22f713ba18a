"""Faults of an agent, for both clients. These concern classes and exceptions of Python, so the
shared list for all languages (`test_vectors.py`) does not contain them.

A row holds the agent's response to `get_state`, and the expected result: the number of messages in
the response, an exception, or a diagnostic.
"""

import json

import pytest
from support.driver import BOTH, LIMIT
from support.peer import STATE, playing

from agentese import DecodeError, RefusedError, TimedOutError, UnknownVariant, omp, pi

FINE = {"messageCount": 7}
OK = object()


def answer(**more):
    """Returns a successful response as bytes, with `ID` in place of the id."""
    frame = {"id": "ID", "type": "response", "command": "get_state", "success": True, "data": STATE, **more}
    return json.dumps(frame, ensure_ascii=False).encode() + b"\n"


GOOD = answer()
SAID = [
    ("F10", "lone_surrogate", answer(data={**STATE, "sessionName": "x"}).replace(b'"x"', b'"\\ud800"'), OK, None),
    ("F12", "line_over_the_limit", b'{"type":"' + b"x" * (1 << 20) + b'"}\n' + GOOD, OK, "framing"),
    ("F16", "deep_nesting", b"[" * 100_000 + b"\n" + b'{"a":' * 100_000 + b"\n" + GOOD, OK, "noise"),
    ("F18", "number_too_large", GOOD.replace(b'"messageCount": 7', b'"messageCount": 1e400'), DecodeError, None),
    ("F20", "unknown_member", answer(data={**STATE, "brandNew": {"deep": [1]}}), OK, None),
    ("F25", "answer_of_the_wrong_shape", answer(data={**STATE, "messageCount": "seven"}), DecodeError, None),
]


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
@pytest.mark.parametrize("said, expected, diagnostic", [pytest.param(*row[2:], id=f"fm_{row[0]}_{row[1]}") for row in SAID])
def test_faulty_agent_output(kind, said, expected, diagnostic):
    def script(peer):
        call = peer.receive()
        peer.send(said.replace(b'"ID"', json.dumps(call["id"]).encode()))
        peer.answer(peer.receive(), data={**STATE, "messageCount": 8})
        peer.serve_until_closed()

    with playing(script) as end, kind().connect(pi, end, max_line=1 << 19, timeout=LIMIT) as client:
        if expected is OK:
            state = client.call("get_state")
            assert state.message_count == 7
            assert "\ud800" not in json.dumps(state.to_dict(), ensure_ascii=False)
        else:
            with pytest.raises(expected):
                # Each member of the response is decoded when it is read.
                print(client.call("get_state").message_count)
        assert client.call("get_state").message_count == 8, "the stream stays usable"
        if diagnostic:
            assert diagnostic in [found for found, _ in client.client.diagnostics()]


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
class TestFaults:
    def test_fm_F13_frames_of_63_megabytes(self, kind):
        text = "x" * (63 << 20)

        def script(peer):
            peer.receive()
            peer.send({"type": "message_update", "message": {"role": "assistant"}, "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": text, "partial": {}}})
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(pi, end) as client:
            events = client.call("events")
            client.call("send_raw", '{"type":"go"}')
            [event] = client.take(events, 1)
            assert len(event.assistant_message_event.delta) == len(text)

    def test_fm_F15_last_line_without_its_end(self, kind):
        def script(peer):
            call = peer.receive()
            peer.send(answer().replace(b'"ID"', json.dumps(call["id"]).encode())[:-1])

        with playing(script) as end, kind().connect(pi, end) as client:
            assert client.call("get_state").message_count == 7

    def test_fm_F20_unknown_event_kind_variant_and_value(self, kind):
        odd = {"type": "brand_new", "deep": {"a": 1}}
        variant = {"type": "message_update", "message": {"role": "oracle", "text": "hm"}, "assistantMessageEvent": {"type": "dance", "step": 1}}

        def script(peer):
            peer.receive()
            peer.send(odd, variant)
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(pi, end) as client:
            events = client.call("events")
            client.call("send_raw", '{"type":"go"}')
            first, second = client.take(events, 2)
            assert isinstance(first, pi.UnknownEvent) and first.tag == "brand_new" and first.to_dict() == odd
            assert isinstance(second.message, UnknownVariant) and second.message.tag == "oracle"
            assert second.assistant_message_event.to_dict() == variant["assistantMessageEvent"]

    def test_fm_F21_unknown_dialog_is_dismissed(self, kind):
        heard = []

        def script(peer):
            peer.send({"type": "extension_ui_request", "id": "u", "method": "never_heard_of"})
            heard.append(peer.receive())
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(pi, end):
            pass_until(lambda: heard)
        assert heard == [{"type": "extension_ui_response", "id": "u", "cancelled": True}]

    def test_fm_F36_no_answer_in_time_and_a_late_one(self, kind):
        def script(peer):
            late = peer.receive()
            call = peer.receive()
            peer.answer(late, data={**STATE, "messageCount": 1})
            peer.answer(call, data=STATE)
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(pi, end) as client:
            with pytest.raises(TimedOutError) as told:
                client.call("get_state", timeout=0.05)
            assert told.value.command == "get_state" and told.value.after == 0.05
            assert client.call("get_state").message_count == 7

    def test_fm_F43_a_handler_that_raises_is_replaced_by_the_policy(self, kind, caplog):
        class Broken(pi.Dialogs):
            def select(self, dialog):
                raise RuntimeError("no")

            def confirm(self, dialog):
                return dialog.title == "Sure?"

        heard = []

        def script(peer):
            peer.send({"type": "extension_ui_request", "id": "u", "method": "select", "title": "?", "options": []})
            heard.append(peer.receive())
            peer.send({"type": "extension_ui_request", "id": "v", "method": "confirm", "title": "Sure?", "message": ""})
            heard.append(peer.receive())
            peer.serve_until_closed()

        with playing(script) as end:
            driver = kind()
            with driver.connect(pi, end, dialogs=Broken()) as client:
                if kind.name == "asyncio":
                    import asyncio

                    async def work():
                        while len(heard) < 2:
                            await asyncio.sleep(0.005)

                    driver.run(work())
                else:
                    pass_until(lambda: len(heard) == 2)
                assert client.client.termination is None
        assert heard == [
            {"type": "extension_ui_response", "id": "u", "cancelled": True},
            {"type": "extension_ui_response", "id": "v", "confirmed": True},
        ]
        assert "the handler of select failed" in caplog.text

    def test_fm_F43_idle_listener_does_not_stall_the_others(self, kind):
        def script(peer):
            call = peer.receive()
            peer.send(b'{"type":"agent_start"}\n' * 50_000)
            peer.answer(call, data=STATE)
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(pi, end) as client:
            lazy = client.call("events")
            assert client.call("get_state").message_count == 7
            assert len(client.take(lazy, 3)) == 3

    def test_fm_F56_a_run_listens_before_its_prompt_is_sent(self, kind):
        def script(peer):
            prompt = peer.receive()
            peer.send({"type": "agent_start"}, {"type": "agent_end", "messages": []})
            peer.answer(prompt)
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(pi, end) as client:
            run = client.call("prompt", "hi")
            assert [event.type for event in client.events(run)] == ["agent_start", "agent_end"]
            result = client.result(run)
            assert result.ended_by == "event" and result.last.type == "agent_end"

    def test_rejected_prompt_has_the_reason(self, kind):
        def script(peer):
            peer.reject(peer.receive(), "no model")
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(pi, end) as client:
            with pytest.raises(RefusedError) as told:
                client.events(client.call("prompt", "hi"))
            assert told.value.command == "prompt" and told.value.message == "no model"

    def test_a_failure_without_id_goes_to_the_oldest_call(self, kind):
        def script(peer):
            peer.receive()
            peer.send({"type": "response", "command": "parse", "success": False, "error": "Failed to parse command: no"})
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(omp, end) as client:
            with pytest.raises(RefusedError) as told:
                client.call("get_messages")
            assert told.value.attributed and told.value.command == "get_messages"


def pass_until(there):
    """Waits until another thread has had its effect."""
    import time

    end = time.monotonic() + LIMIT
    while not there():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)
