"""Guards tools until it is requested to stop. Then it removes its subscription and exits."""

import json
import os
import sys


def send(**frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


path = ""


def offer(*events):
    return {"path": path, "events": list(events), "commands": [{"name": "quit"}]}


for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "initialize":
        path = frame["extensions"][0]
        send(type="response", id=frame["id"], result={"protocol": 1, "extensions": [offer("tool_call")]})
    elif frame["type"] == "command":
        send(type="register", offered=offer(), id="1")
        send(type="response", id=frame["id"])
    elif frame["type"] == "response":
        send(type="notify", message="quits")
        os._exit(4)
    elif "id" in frame:
        send(type="response", id=frame["id"])
