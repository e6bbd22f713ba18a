"""Misbehaves according to the environment. It implements the protocol itself, because no library would make
these errors."""

import json
import os
import subprocess
import sys
import time

ZOO = os.environ.get("ZOO", "")
# With a short time limit, it subscribes only to the failing events, because a busy machine may be slow.
EVENTS = os.environ.get("ZOO_EVENTS", "session_start,input,tool_call").split(",")
# Subscriptions without an answer.
UNANSWERED = os.environ.get("ZOO_UNANSWERED", "").split(",")


def send(**frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def misbehave(how, frame):
    if how == "kill":
        os.kill(os.getpid(), 9)
    if how == "exit":
        sys.stderr.write("last words\n")
        os._exit(3)
    if how == "hang":
        time.sleep(3600)
    if how == "flood":
        while True:
            send(type="notify", message="flood")
    if how == "flood-noise":
        while True:
            sys.stdout.write("noise\n")
    if how == "no-end":
        while True:
            sys.stdout.write("x" * 65536)
    if how == "wrong-shape":
        send(type="response", id=frame["id"], result={"block": "perhaps", "action": 7, "cancel": "no"})
        return True
    if how == "guard":
        send(type="response", id=frame["id"], result={"block": True, "reason": "guarded"})
        return True
    if how == "unknown":
        for _ in range(1500):
            send(type="no such frame")
    if how == "late":
        time.sleep(0.5)
    return False


if ZOO == "never":
    time.sleep(3600)
if ZOO == "child":
    child = subprocess.Popen(["sleep", "1000"])
    with open("child", "w") as file:
        file.write(f"{child.pid}\n")
    with open("own", "w") as file:
        file.write(f"{os.getpid()}\n")
if ZOO == "exit-at-start":
    misbehave("exit", {})

if ZOO in ("guard", "old", "second-hangs", "second-refuses"):
    with open("starts", "a") as file:
        file.write("started\n")
if ZOO == "guard" and len(open("starts").readlines()) > 1:
    # A slow start leaves room for operations that must not happen meanwhile.
    time.sleep(0.5)
AGAIN = ZOO.startswith("second") and len(open("starts").readlines()) > 1
if ZOO == "second-hangs" and AGAIN:
    time.sleep(3600)

entries = pieces = 0
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "initialize":
        if ZOO == "noise":
            print("loading noise")
            print('{"type": "no such frame"}')
            print('{"type": "no such question", "id": "z"}')
            print('{"type": "response", "id": "77", "result": {}}')
            print('{"type": "notify"}')
            print("[1, 2, 3]")
            sys.stdout.flush()
        if ZOO == "old":
            send(type="response", id=frame["id"], result={"protocol": 0, "extensions": []})
            continue
        if ZOO == "load-error" or (ZOO == "second-refuses" and AGAIN):
            offer = {"path": frame["extensions"][0], "error": "load failed"}
        else:
            offer = {"path": frame["extensions"][0], "events": EVENTS, "commands": [{"name": "zoo"}]}
        send(
            type="response",
            id=frame["id"],
            result={"protocol": 1, "extensions": [offer], "watch": os.environ.get("ZOO_WATCH", "").split()},
        )
    elif frame["type"] == "entries":
        entries += len(frame["entries"])
        pieces += 1
        # A slow extension that reads, or one that does not.
        time.sleep(3600 if ZOO == "deaf" and entries > 0 else 0.2)
    elif frame["type"] == "command":
        send(type="notify", message=f"{entries} entries, {json.dumps(pieces > 4)}")
        send(type="response", id=frame["id"])
    elif frame["type"] == "event":
        event = frame["event"]
        how = None
        if event["type"] in UNANSWERED:
            send(type="notify", message="asked " + event["type"])
            continue
        if event["type"] == "session_start":
            send(type="notify", message="started")
        elif event["type"] == "input":
            how = event["text"].split(" ")[0]
        elif event["type"] == "tool_call":
            # In tool calls, the environment selects the failure.
            how = "exit" if ZOO.startswith("second") else ZOO
        if not misbehave(how, frame) and "id" in frame:
            send(type="response", id=frame["id"])
    elif frame["type"] == "response" and ZOO == "noise" and "error" in frame:
        send(type="notify", message=frame["error"])
