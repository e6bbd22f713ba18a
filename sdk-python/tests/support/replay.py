"""An agent that plays a recorded session: waits for what the client said then, says what the agent said."""

import json
import socket
from pathlib import Path
from typing import Any


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and the records of a transcript."""
    header, *records = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return header, records


def line_of(record: dict[str, Any]) -> str:
    """The text of a recorded line."""
    if "line" in record:
        text: str = record["line"]
        return text
    parts = record["line_parts"]
    return "".join(p if isinstance(p, str) else p["repeat"] * p["n"] for p in parts)


def frame_of(line: str) -> dict[str, Any]:
    """The object that a line is; an empty one where it is none."""
    try:
        frame = json.loads(line)
    except ValueError:
        return {}
    return frame if isinstance(frame, dict) else {}


class Player:
    """Plays the agent's side. Ids are the client's own."""

    def __init__(self, end: socket.socket, json_rpc: bool) -> None:
        end.settimeout(20)
        self.socket = end
        self.reader = end.makefile("rb")
        self.name = "method" if json_rpc else "type"
        self.json_rpc = json_rpc
        self.ids: dict[str, tuple[Any, str]] = {}
        self.anonymous: list[tuple[str, Any]] = []
        self.last: dict[str, dict[str, Any]] = {}

    def play(self, records: list[dict[str, Any]], cut: bool) -> None:
        """Plays to the end, and answers what the client still asks."""
        for record in records:
            if record.get("dir") == "ctl":
                if record.get("event") == "exit":
                    if cut:
                        return
                    break
            elif record.get("dir") == "c2s":
                self.hear(line_of(record))
            elif record.get("dir") == "s2c":
                self.say(line_of(record))
        while line := self.reader.readline():
            self.improvise(frame_of(line.decode()))

    def hear(self, expected: str) -> None:
        frame = frame_of(expected)
        name = frame.get(self.name)
        while line := self.reader.readline():
            said = frame_of(line.decode())
            if said.get(self.name) == name:
                if frame.get("id") is not None:
                    self.ids[json.dumps(frame["id"])] = (said.get("id"), str(name))
                elif name is not None:
                    self.anonymous.append((name, said.get("id")))
                return
            self.improvise(said)
        raise EOFError(f"the client ended; the transcript waits for {expected[:200]}")

    def say(self, line: str) -> None:
        frame = frame_of(line)
        if not (frame.get("type") == "response" or "result" in frame or "error" in frame and self.json_rpc):
            return self.write(line)
        known = self.ids.get(json.dumps(frame["id"])) if frame.get("id") is not None else None
        command = frame.get("command") or (known and known[1])
        if command:
            self.last[command] = frame
        if known:
            return self.write(json.dumps({**frame, "id": known[0]}))
        at = next((at for at, (name, _) in enumerate(self.anonymous) if name == command), None)
        if "id" not in frame and at is not None:
            return self.write(json.dumps({"id": self.anonymous.pop(at)[1], **frame}))
        return self.write(line)

    def improvise(self, said: dict[str, Any]) -> None:
        """Answers a command that the transcript does not have here."""
        name = said.get(self.name)
        if name in (None, "extension_ui_response"):
            return
        answer = dict(self.last.get(str(name), {"type": "response", "command": name, "success": True, "data": {}}))
        if name == "get_state" and isinstance(answer.get("data"), dict):
            answer["data"] = {**answer["data"], "isStreaming": False}
        if "id" in said:
            answer["id"] = said["id"]
        self.write(json.dumps(answer))

    def write(self, line: str) -> None:
        self.socket.sendall(line.encode("utf-8", "surrogatepass") + b"\n")
