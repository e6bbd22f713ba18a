"""Agents behind a WebSocket. Each message is one frame.

Needs the package `websockets` (`pip install agentese[websocket]`).

    with websocket.connect("ws://127.0.0.1:4711/TOKEN/ws") as end, pi.Client.connect(end) as client:
        print(client.prompt("What is in this directory?").text())

A server of `agentese web` lets a client resume a lost connection. The client sends the number of messages
that it has received. It repeats all lines that the server has possibly not received: commands without a
response, and answers to the agent's questions. The server runs no command twice, and uses only the first
answer to a question. The client's connection ends if the server no longer has the missed messages. It also
ends if a server without this feature closes the connection.
"""

import json
import logging
import socket
import threading
import time
import urllib.parse
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

logger = logging.getLogger("agentese")

RECONNECT_DELAYS = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Pauses between reconnection attempts in seconds."""
SERVER_MESSAGE_PREFIX = '{"agentese":'
"""Prefix of messages that a server of `agentese web` sends itself, in contrast to frames of the
agent.
"""
ANSWER_PREFIX = "answer "
"""Prefix that distinguishes answers from commands in the keys of the unsettled lines."""

MAX_QUESTIONS = 1024
"""Maximum number of remembered question ids. A line with the id of a remembered question is an answer."""


@contextmanager
def connect(address: str, *, reconnect_timeout: float = 60.0, timeout: float = 10.0) -> Iterator[socket.socket]:
    """Connects to an agent behind a WebSocket, and returns the socket for a client of its dialect.

    Writes wait while the network is slow. `reconnect_timeout` is the time limit for a reconnection, in
    seconds. Raises `ImportError` without the package `websockets`. Raises `OSError`, or an error of that
    package, if no connection is possible within `timeout` seconds.
    """
    ours, theirs = socket.socketpair()
    connection = _ReconnectingSocket(address, theirs, reconnect_timeout, timeout)
    with ours, theirs:
        connection.open()
        threads = [threading.Thread(target=act, daemon=True) for act in (connection.receive, connection.send)]
        for thread in threads:
            thread.start()
        try:
            yield ours
        finally:
            connection.close()
            for thread in threads:
                thread.join(timeout)


class _ReconnectingSocket:
    """Connection that continues on a new WebSocket when the current one is lost. One thread receives, another
    sends."""

    def __init__(self, address: str, end: socket.socket, reconnect_timeout: float, timeout: float) -> None:
        try:
            from websockets.sync.client import connect as dial
        except ImportError as missing:
            raise ImportError("agentese.websocket needs the package websockets: pip install agentese[websocket]") from missing
        self._dial: Any = dial
        self._address = urllib.parse.urlsplit(address)
        self._end = end
        self._reconnect_timeout = reconnect_timeout
        self._timeout = timeout
        self._name = uuid.uuid4().hex[:24]
        self._received_count: int | None = None
        self._unsettled: dict[str, str] = {}
        """Sent lines that the server has possibly not received, in order. The key of a command is its id as
        JSON; the line is kept until the response. The key of an answer is `ANSWER_PREFIX` and the question's
        id. The line is kept until a later command has a response.
        """
        self._questions: dict[str, None] = {}
        """Ids of questions that the agent asked, newest last."""
        self._changed = threading.Condition()
        self._socket: Any = None
        self._is_ended = False

    def open(self) -> None:
        """Opens a WebSocket."""
        query_params = {"tab": self._name} | ({} if self._received_count is None else {"have": str(self._received_count)})
        query = "&".join(filter(None, [self._address.query, urllib.parse.urlencode(query_params)]))
        address = urllib.parse.urlunsplit(self._address._replace(query=query))
        made = self._dial(address, open_timeout=self._timeout, close_timeout=1, max_size=None, compression=None)
        with self._changed:
            self._socket = made
            self._changed.notify_all()

    def close(self) -> None:
        """Ends the connection and both threads."""
        with self._changed:
            self._is_ended = True
            made = self._socket
            self._changed.notify_all()
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        if made is not None:
            made.close()

    def receive(self) -> None:
        """Passes the agent's messages to the client until the end of the connection."""
        from websockets.exceptions import WebSocketException

        is_first = True
        while not self._is_ended:
            try:
                message = self._socket.recv()
            except (WebSocketException, OSError):
                if self._received_count is None or not self._reconnect():
                    break
                is_first = True
                continue
            if not isinstance(message, str):
                continue
            try:
                hello = _parse_greeting(message) if is_first else None
                is_first, is_continued = False, not is_first or self._received_count is None
                if hello is None and not is_continued:
                    self._log_missed()
                    break
                if not (self._handle_message(message) if hello is None else self._handle_greeting(hello)):
                    break
            except OSError:
                break
        self.close()

    def _reconnect(self) -> bool:
        """Opens a new WebSocket. Returns `False` if that is impossible within the time limit."""
        from websockets.exceptions import WebSocketException

        until = time.monotonic() + self._reconnect_timeout
        attempt = 0
        while time.monotonic() < until:
            with self._changed:
                if self._changed.wait_for(lambda: self._is_ended, RECONNECT_DELAYS[min(attempt, len(RECONNECT_DELAYS) - 1)]):
                    return False
            attempt += 1
            try:
                self.open()
                return True
            except (WebSocketException, OSError):
                continue
        logger.warning("the connection to %s was lost", self._address.netloc)
        return False

    def _log_missed(self) -> None:
        logger.warning("%s no longer has the missed messages", self._address.netloc)

    def _handle_greeting(self, hello: dict[str, Any]) -> bool:
        """Processes the first message of a server of `agentese web`. Returns `False` if the server no longer
        has the missed messages."""
        from websockets.exceptions import WebSocketException

        if hello.get("back") is True:
            # The server does not run a received command again, and only the first answer to a
            # question applies. If this socket is lost as well, the lines are repeated on the next
            # one.
            with suppress(WebSocketException, OSError):
                for line in list(self._unsettled.values()):
                    self._socket.send(line)
            return True
        if hello.get("lost") is True or self._received_count is not None:
            self._log_missed()
            return False
        self._received_count = 0
        for line in [*hello.get("begun", []), *(question["line"] for question in hello.get("questions", []))]:
            self._frame(line)
        return True

    def _handle_message(self, message: str) -> bool:
        """Processes a message. Returns `False` if the connection ends with it."""
        if self._received_count is not None:
            self._received_count += 1
            if message.startswith(SERVER_MESSAGE_PREFIX):
                return json.loads(message)["agentese"] not in ("reload", "ended")
        self._frame(message)
        return True

    def _frame(self, line: str) -> None:
        id, method, _ = _id(line)
        # In JSON-RPC each side numbers its own requests.
        if id is not None and (method or not self._settle_command(id)):
            self._questions.pop(id, None)
            self._questions[id] = None
            if len(self._questions) > MAX_QUESTIONS:
                del self._questions[next(iter(self._questions))]
        self._end.sendall(line.encode() + b"\n")

    def _settle_command(self, id: str) -> bool:
        """Marks the command with that id as answered. Drops its line from the lines to send again, and
        all answers that were sent before it: the response shows that the agent has received them.
        Returns `False` if no such command waits for a response."""
        keys = list(self._unsettled)
        if id not in keys:
            return False
        for key in keys[: keys.index(id)]:
            if key.startswith(ANSWER_PREFIX):
                del self._unsettled[key]
        del self._unsettled[id]
        return True

    def send(self) -> None:
        """Sends the client's lines until the end of the connection."""
        with self._end.makefile("rb") as lines, suppress(OSError):
            for line in lines:
                if not line.endswith(b"\n") or not self._send_line(line[:-1].decode()):
                    break
        self.close()

    def _send_line(self, line: str) -> bool:
        """Sends a line. If the WebSocket is lost, sends the line on the next one. Returns `False` if the
        connection has ended."""
        from websockets.exceptions import WebSocketException

        id, method, is_rpc = _id(line)
        is_answer = not method if is_rpc else id in self._questions
        if id is not None:
            self._unsettled[f"{ANSWER_PREFIX}{id}" if is_answer else id] = line
        while not self._is_ended:
            made = self._socket
            try:
                made.send(line)
            except (WebSocketException, OSError):
                with self._changed:
                    self._changed.wait_for(lambda: self._is_ended or self._socket is not made)
                continue
            return True
        return False


def _id(line: str) -> tuple[str | None, bool, bool]:
    """Returns the id of a frame as JSON, whether the frame has a method, and whether it is
    JSON-RPC.
    """
    try:
        frame = json.loads(line) if '"id"' in line else None
    except ValueError:
        frame = None
    if not isinstance(frame, dict) or frame.get("id") is None:
        return None, False, False
    return json.dumps(frame["id"]), "method" in frame, "jsonrpc" in frame


def _parse_greeting(message: str) -> dict[str, Any] | None:
    """Returns the greeting of a server of `agentese web`; `None` for any other message."""
    if not message.startswith(SERVER_MESSAGE_PREFIX):
        return None
    with suppress(ValueError, RecursionError):
        hello = json.loads(message)
        if isinstance(hello, dict) and hello.get("agentese") == "hello":
            return hello
    return None
