"""An agent behind a WebSocket, and the effects of a lost connection."""

import json
import threading
import time
from contextlib import contextmanager

import pytest
from support.driver import LIMIT

from agentese import websocket

pytest.importorskip("websockets")
from websockets.sync.server import serve  # noqa: E402


class Server:
    """Server on the loopback address. It answers each command once, and lets clients resume a lost
    connection.
    """

    def __init__(self):
        self.calls, self.received, self.sent, self.sockets = [], [], [], []
        self.resumes, self.has_forgotten, self.is_mute = True, False, False
        self.greeting = None
        self.seen = set()

    def talk(self, socket):
        query = socket.request.path.partition("?")[2]
        self.calls.append(dict(pair.split("=") for pair in query.split("&")))
        self.sockets.append(socket)
        have = self.calls[-1].get("have")
        if self.greeting is not None:
            socket.send(self.greeting)
        elif self.resumes:
            is_back = have is not None and not self.has_forgotten
            socket.send(json.dumps({"agentese": "hello", "back": is_back, "lost": have is not None and not is_back}, separators=(",", ":")))
            for text in self.sent[int(have) :] if is_back else []:
                socket.send(text)
        for text in socket:
            self.received.append(text)
            frame = json.loads(text)
            if frame["id"] in self.seen:
                continue
            self.seen.add(frame["id"])
            if frame["type"] == "extension_ui_response":
                continue
            self.sent.append(json.dumps({"id": frame["id"], "type": "response", "success": True}))
            if not self.is_mute:
                socket.send(self.sent[-1])


@contextmanager
def listening():
    told = Server()
    with serve(told.talk, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield told, f"ws://127.0.0.1:{server.socket.getsockname()[1]}/token/ws"
        finally:
            server.shutdown()
            thread.join()


def until(holds):
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def command(id):
    return json.dumps({"id": id, "type": "abort"}).encode() + b"\n"


def test_a_message_is_a_frame():
    with listening() as (server, address), websocket.connect(address) as end:
        end.settimeout(LIMIT)
        with end.makefile("rb") as lines:
            end.sendall(command("a") + command("b"))
            assert [json.loads(lines.readline())["id"] for _ in range(2)] == ["a", "b"]
        assert [json.loads(text)["id"] for text in server.received] == ["a", "b"]


def test_resumed_connection_runs_no_command_twice():
    with listening() as (server, address), websocket.connect(address) as end:
        end.settimeout(LIMIT)
        with end.makefile("rb") as lines:
            end.sendall(command("a"))
            lines.readline()
            server.is_mute = True
            end.sendall(command("b"))
            until(lambda: len(server.sent) == 2)
            server.is_mute = False
            server.sockets[0].close()
            assert json.loads(lines.readline())["id"] == "b"
            end.sendall(command("c"))
            assert json.loads(lines.readline())["id"] == "c"
        assert server.calls[1]["have"] == "1" and server.calls[1]["tab"] == server.calls[0]["tab"]
        assert len(server.sent) == 3


def test_lost_dialog_answer_is_resent_until_a_later_response():
    def answers():
        return [text for text in server.received if "extension_ui_response" in text]

    with listening() as (server, address), websocket.connect(address) as end:
        end.settimeout(LIMIT)
        until(lambda: server.sockets)
        with end.makefile("rb") as lines:
            server.sent.append(json.dumps({"type": "extension_ui_request", "id": "q1", "method": "confirm"}))
            server.sockets[0].send(server.sent[-1])
            lines.readline()
            end.sendall(json.dumps({"type": "extension_ui_response", "id": "q1", "confirmed": True}).encode() + b"\n")
            until(lambda: len(answers()) == 1)
            server.sockets[0].close()
            until(lambda: len(answers()) == 2)
            end.sendall(command("a"))
            lines.readline()
            server.sockets[1].close()
            until(lambda: len(server.sockets) == 3)
            end.sendall(command("b"))
            lines.readline()
        assert len(answers()) == 2


def test_a_question_of_json_rpc_settles_no_command_with_the_same_id():
    def frame(**members):
        return json.dumps({"jsonrpc": "2.0", "id": 1, **members}).encode() + b"\n"

    with listening() as (server, address), websocket.connect(address) as end:
        end.settimeout(LIMIT)
        server.seen.add(1)
        with end.makefile("rb") as lines:
            end.sendall(frame(method="a", params={}))
            until(lambda: len(server.received) == 1)
            server.sent.append(frame(method="ask", params={}).decode())
            server.sockets[0].send(server.sent[-1].strip())
            lines.readline()
            end.sendall(frame(result={}))
            until(lambda: len(server.received) == 2)
            server.sockets[0].close()
            until(lambda: len(server.received) == 4)
        assert server.received[2:] == server.received[:2]


@pytest.mark.parametrize("resumes", [True, False], ids=["what was missed is lost", "the server knows no resuming"])
def test_the_end_is_the_end_of_the_stream(resumes):
    with listening() as (server, address):
        server.resumes = resumes
        with websocket.connect(address) as end:
            end.settimeout(LIMIT)
            end.sendall(command("a"))
            assert end.recv(1000).startswith(b'{"id": "a"')
            server.has_forgotten = True
            server.sockets[0].close()
            assert end.recv(1000) == b""


@pytest.mark.parametrize(
    "greeting",
    ['{"agentese":"hello"}', '{"agentese":"hello",', '{"agentese":"sent","back":true}', '{"type":"agent_start"}'],
)
def test_reconnect_without_resumption_ends_the_connection(greeting):
    with listening() as (server, address), websocket.connect(address) as end:
        end.settimeout(LIMIT)
        end.sendall(command("a"))
        assert end.recv(1000).startswith(b'{"id": "a"')
        server.greeting = greeting
        server.sockets[0].close()
        assert end.recv(1000) == b""


def test_unreachable_server_is_a_connection_error():
    with pytest.raises(OSError), websocket.connect("ws://127.0.0.1:9/", timeout=LIMIT):
        pass
