"""An agent whose lines the test itself sends and receives, at the other end of a socket."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from support.driver import LIMIT


class Peer:
    """The other end of a connection. It sends and receives lines; every wait has a time limit."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        end.settimeout(LIMIT)
        self._reader = end.makefile("rb")

    def receive(self) -> dict[str, Any]:
        line = self._reader.readline()
        if not line:
            raise EOFError("the client closed its end")
        frame: dict[str, Any] = json.loads(line)
        return frame

    def send(self, *frames: Any) -> None:
        for frame in frames:
            data = frame if isinstance(frame, bytes) else (frame if isinstance(frame, str) else json.dumps(frame)).encode() + b"\n"
            self.socket.sendall(data)

    def answer(self, call: dict[str, Any], **more: Any) -> None:
        self.send({"id": call["id"], "type": "response", "command": call["type"], "success": True, **more})

    def reject(self, call: dict[str, Any], error: str) -> None:
        self.send({"id": call["id"], "type": "response", "command": call["type"], "success": False, "error": error})

    def serve_until_closed(self) -> None:
        """Answers queries of the state until the client disconnects."""
        try:
            while True:
                call = self.receive()
                if call["type"] == "get_state":
                    self.answer(call, data=STATE)
                elif call["type"] != "extension_ui_response":
                    self.answer(call)
        except (EOFError, OSError):
            pass


STATE = {
    "model": None, "thinkingLevel": "off", "isStreaming": False, "isCompacting": False, "steeringMode": "all",
    "followUpMode": "all", "sessionId": "s", "autoCompactionEnabled": True, "messageCount": 7, "pendingMessageCount": 0,
}


@contextmanager
def playing(script: Callable[[Peer], None]) -> Iterator[socket.socket]:
    """Runs a script with the agent's end on a thread, and yields the client's end. A failure of the
    script fails the test.
    """
    ours, theirs = socket.socketpair()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with theirs:
                script(Peer(theirs))
        except (BrokenPipeError, ConnectionResetError, EOFError):
            pass
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        with ours:
            yield ours
    finally:
        # The native core has duplicated the descriptor. Only a shutdown wakes a client that still
        # waits.
        try:
            theirs.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        thread.join(LIMIT)
        assert not thread.is_alive(), "the script hangs"
        theirs.close()
    if failures:
        raise failures[0]
