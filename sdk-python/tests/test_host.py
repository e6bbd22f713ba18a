"""Features of omp 18 that a client provides to the agent: tools, resource addresses, and chunked
frames.
"""

import base64
import json

import pytest
from support.driver import BOTH, LIMIT
from support.peer import STATE, playing

from agentese import omp

BOTH_CLIENTS = pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)


class Host(omp.Dialogs):
    def host_tool_call(self, dialog):
        if dialog.tool_name == "missing":
            return None
        return {"result": {"content": [{"type": "text", "text": dialog.arguments["text"]}]}}

    def host_uri_request(self, dialog):
        return {"content": f"{dialog.operation} of {dialog.url}"}


def call(identity, tool):
    return {
        "type": "host_tool_call",
        "id": identity,
        "toolCallId": "c1",
        "toolName": tool,
        "arguments": {"text": "ping"},
    }


def test_a_handler_carries_out_tools_and_reads_addresses():
    heard = []

    def script(peer):
        asked = peer.receive()
        for question in (
            call("1", "echo"),
            {"type": "host_uri_request", "id": "2", "operation": "read", "url": "notes://today"},
            call("3", "missing"),
        ):
            peer.send(question)
            heard.append(peer.receive())
        peer.answer(asked, data=STATE)
        peer.serve_until_closed()

    with playing(script) as end, omp.Client.connect(end, dialogs=Host(), timeout=LIMIT) as client:
        client.get_state()
    text = [{"type": "text", "text": "ping"}]
    assert heard[0] == {"type": "host_tool_result", "id": "1", "result": {"content": text}}
    assert heard[1] == {"type": "host_uri_result", "id": "2", "content": "read of notes://today"}
    assert (heard[2]["id"], heard[2]["isError"]) == ("3", True)


@BOTH_CLIENTS
def test_fm_f25_chunked_answer_is_assembled_and_broken_chunks_are_reported(kind):
    def script(peer):
        asked = peer.receive()
        frame = {"id": asked["id"], "type": "response", "command": "get_last_assistant_text", "success": True}
        text = json.dumps({**frame, "data": {"text": "whole"}}).encode()
        count = -(-len(text) // 40)

        def piece(name, index):
            data = base64.b64encode(text[index * 40 : index * 40 + 40]).decode()
            head = {"type": "rpc_chunk", "chunkId": name, "index": index, "count": count}
            return {**head, "byteLength": len(text), "data": data}

        for broken in (0, 2):
            peer.send(piece("a", broken))
        for index in range(count):
            peer.send(piece("b", index))
        peer.serve_until_closed()

    shown = []
    tap = {"on_frame": lambda direction, text: shown.append((direction, text))}
    with playing(script) as end, kind().connect(omp, end, timeout=LIMIT, **tap) as client:
        assert client.call("get_last_assistant_text").text == "whole"
        [(found, told)] = client.client.diagnostics()
        assert (found, told.endswith("pieces of a, then piece 2 of a")) == ("chunks", True)
    # A tap receives a chunked frame only when it is complete, so no chunk can expose a key.
    assert [direction for direction, _ in shown] == ["sent", "received"] and "whole" in shown[1][1]
