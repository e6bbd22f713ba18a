"""Test helpers for programs that use a client: agents in memory, and recorded agents.

Both kinds return a connected socket for `Client.connect` or `AsyncClient.connect`:

    with testing.replay(pi, "session.jsonl") as agent, pi.Client.connect(agent) as client:
        ...
"""

import asyncio
import json
import os
import socket as sockets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from agentese._native import facts
from agentese.service import ServiceBase, serve_async

LIMIT = 60.0
"""Time in seconds for which the simulated agent waits for the client."""


@contextmanager
def memory_agent(service: ServiceBase) -> Iterator[sockets.socket]:
    """Runs an agent, given as a service, on a thread of its own. Yields the socket for the client.

    An exception of a handler ends the agent. It is raised again at the end of the `with` block.
    """

    def play(end: sockets.socket) -> None:
        failures: list[Exception] = []

        def failed(error: Exception) -> None:
            failures.append(error)
            end.shutdown(sockets.SHUT_RDWR)

        asyncio.run(serve_async(service, end, on_failure=failed))
        if failures:
            raise failures[0]

    with _run_agent(play) as end:
        yield end


@contextmanager
def replay(dialect: ModuleType, transcript: "str | os.PathLike[str] | Iterable[str]") -> Iterator[sockets.socket]:
    """Plays an agent from a transcript, given as a file or as its lines. Returns the socket for the client.

    The player waits until the client sends each recorded command; only the name is compared. It sends the
    lines of the recorded agent with the ids of the actual client. The client may send a command that the
    transcript does not have at this point. The player answers it with the last recorded response to that
    command, or with a failure that names the command. If the client ends before the transcript,
    `AssertionError` is raised at the end of the `with` block.
    """
    if isinstance(transcript, (str, os.PathLike)):
        lines: Iterable[str] = Path(transcript).read_text(encoding="utf-8").splitlines()
    else:
        lines = transcript
    records = [record for record in map(json.loads, lines) if "dir" in record]
    with _run_agent(lambda end: Player(end, dialect.DIALECT).play(records)) as end:
        yield end


@contextmanager
def _run_agent(play: Callable[[sockets.socket], object]) -> Iterator[sockets.socket]:
    ours, theirs = sockets.socketpair()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with theirs:
                play(theirs)
        except (BrokenPipeError, ConnectionResetError):
            pass
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, name="agentese-testing", daemon=True)
    thread.start()
    try:
        with ours:
            yield ours
    finally:
        # The client holds a duplicate of the descriptor. Only a shutdown wakes its waiting readers.
        try:
            theirs.shutdown(sockets.SHUT_RDWR)
        except OSError:
            pass
        thread.join(LIMIT)
        theirs.close()
        # The failure of the agent is the cause of a failure in the block.
        if failures:
            raise failures[0]


def line_of(record: dict[str, Any]) -> str:
    """Returns the text of a recorded line."""
    if "line" in record:
        text: str = record["line"]
        return text
    return "".join(part if isinstance(part, str) else part["repeat"] * part["n"] for part in record["line_parts"])


def frame_of(line: str) -> dict[str, Any]:
    """Parses a line. Returns an empty dict if the line is not a JSON object."""
    try:
        frame = json.loads(line)
    except ValueError:
        return {}
    return frame if isinstance(frame, dict) else {}


class Player:
    """Player of the agent's side of a recorded session, over a socket."""

    def __init__(self, end: sockets.socket, dialect: str) -> None:
        end.settimeout(LIMIT)
        self._socket = end
        self._reader = end.makefile("rb")
        self._json_rpc, self._barrier, self._dialog_answer = facts(dialect)
        self._name = "method" if self._json_rpc else "type"
        self._ids: dict[str, tuple[Any, str]] = {}
        self._anonymous: list[tuple[str, Any]] = []
        self._last: dict[str, dict[str, Any]] = {}

    def play(self, records: Iterable[dict[str, Any]], cut: bool = False) -> None:
        """Plays all records, then answers further commands until the client disconnects. If `cut`
        is true, disconnects at the recorded exit of the agent instead."""
        with self._reader:
            for record in records:
                match record.get("dir"):
                    case "ctl" if record.get("event") == "exit":
                        if cut:
                            return
                        break
                    case "c2s":
                        self._expect_command(line_of(record))
                    case "s2c":
                        self._send_recorded(line_of(record))
            while line := self._reader.readline():
                self._answer_unrecorded(frame_of(line.decode()))

    def _expect_command(self, expected: str) -> None:
        frame = frame_of(expected)
        name = frame.get(self._name)
        while line := self._reader.readline():
            sent = frame_of(line.decode())
            if sent.get(self._name) == name:
                if frame.get("id") is not None:
                    self._ids[json.dumps(frame["id"])] = (sent.get("id"), str(name))
                elif name is not None:
                    self._anonymous.append((name, sent.get("id")))
                return
            self._answer_unrecorded(sent, name)
        raise AssertionError(f"the client ended before the transcript; the next command is {expected[:200]}")

    def _is_answer(self, frame: dict[str, Any]) -> bool:
        if self._json_rpc:
            return "result" in frame or "error" in frame
        return frame.get("type") == "response"

    def _send_recorded(self, line: str) -> None:
        frame = frame_of(line)
        if not self._is_answer(frame):
            return self._write(line)
        known = self._ids.get(json.dumps(frame["id"])) if frame.get("id") is not None else None
        command = frame.get("command") or (known and known[1])
        if command:
            self._last[command] = frame
        if known:
            return self._write(json.dumps({**frame, "id": known[0]}))
        at = next((at for at, (name, _) in enumerate(self._anonymous) if name == command), None)
        if "id" not in frame and at is not None:
            return self._write(json.dumps({"id": self._anonymous.pop(at)[1], **frame}))
        return self._write(line)

    def _answer_unrecorded(self, sent: dict[str, Any], expected: object = None) -> None:
        """Answers a command that is not the next one in the transcript. `expected` is the transcript's next
        command, if any."""
        name = sent.get(self._name)
        # Answers to dialogs receive no response.
        if name is None or name == self._dialog_answer or "id" not in sent:
            return
        answer = self._last.get(name)
        if answer is not None:
            answer = {**answer, "id": sent["id"]}
            if self._barrier is not None and name == self._barrier[0] and isinstance(answer.get("data"), dict):
                # No run is in progress between the recorded commands, so the response reports an
                # idle agent.
                answer["data"] = {**answer["data"], self._barrier[1]: False}
        else:
            text = f"the transcript has no answer to `{name}`"
            if expected is not None:
                text += f" here; its next command is `{expected}`"
            if self._json_rpc:
                answer = {"jsonrpc": "2.0", "id": sent["id"], "error": {"code": -32601, "message": text}}
            else:
                answer = {"id": sent["id"], "type": "response", "command": name, "success": False, "error": text}
        self._write(json.dumps(answer))

    def _write(self, line: str) -> None:
        self._socket.sendall(line.encode("utf-8", "surrogatepass") + b"\n")
