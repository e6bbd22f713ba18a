"""An agent of a few commands in the pi dialect, with one defect: `agent.py DEFECT`; `none` for no defect."""

import json
import os
import subprocess
import sys
import time

DEFECT = sys.argv[1]
MESSAGES: list[dict[str, object]] = []
STATE = {"isStreaming": False, "sessionFile": "session"}


def say(**frame: object) -> None:
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def answer(command: dict[str, object]) -> None:
    kind, number = command.get("type"), command.get("id")
    data: dict[str, object] | None = None
    if kind == "get_state":
        data = STATE
    elif kind == "get_messages":
        if not MESSAGES and os.path.exists("session") and DEFECT != "forgets":
            with open("session", encoding="utf-8") as file:
                MESSAGES.extend(json.loads(line) for line in file)
        data = {"messages": MESSAGES}
    if kind == "abort" and DEFECT == "ignores-abort":
        return
    if kind == "prompt" and DEFECT == "leaves-a-process":
        subprocess.Popen(["sleep", "60"], start_new_session=True)
    frame = {"type": "response", "command": kind, "success": True, "id": number}
    say(**frame, **({} if data is None else {"data": data}))
    if kind == "set_session_name" and DEFECT == "answers-twice":
        say(**frame)
    if kind == "prompt":
        say(type="agent_start")
        message = {"role": "assistant", "content": [{"type": "text", "text": "OK."}], "timestamp": time.time_ns()}
        MESSAGES.append(message)
        with open("session", "a", encoding="utf-8") as file:
            file.write(json.dumps(message) + "\n")
        say(type="message_end", message=message)
        say(type="agent_end", messages=[message])


kept = bytearray()
for line in sys.stdin.buffer:
    try:
        command = json.loads(line)
    except (ValueError, RecursionError):
        if DEFECT == "dies-of-garbage":
            sys.exit(3)
        if DEFECT == "babbles":
            print("cannot read that", flush=True)
        if DEFECT == "keeps-lines":
            kept += line
        continue
    if isinstance(command, dict) and isinstance(command.get("id"), str):
        answer(command)
sys.exit(4 if DEFECT == "ends-badly" else 0)
