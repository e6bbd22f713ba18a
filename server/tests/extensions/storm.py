"""Guard of tools that fails at each call in the way that `STORM` states. It records a permission before it
grants it.
"""

import json
import os
import sys
import time

PLAN = os.environ["STORM"].split(",")


def send(**frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def note(file, text):
    with open(file, "a") as out:
        out.write(text + "\n")


def calls():
    return len(open("calls").readlines()) if os.path.exists("calls") else 0


def judge(frame):
    how = PLAN[calls() % len(PLAN)]
    note("calls", how)
    if how == "kill":
        os.kill(os.getpid(), 9)
    if how == "exit":
        os._exit(3)
    if how == "hang":
        time.sleep(3600)
    if how == "cut":
        sys.stdout.write('{"type": "response", "id": ')
        sys.stdout.flush()
        os._exit(0)
    if how == "noise":
        sys.stdout.write("x" * 65536 + "\n")
        how = "block"
    if how == "foreign":
        send(type="response", id="0", result={})
        how = "block"
    if how == "allow":
        note("allowed", frame["event"]["input"]["command"])
        send(type="response", id=frame["id"])
    else:
        send(type="response", id=frame["id"], result={"block": True, "reason": "guarded"})


for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "initialize":
        offer = {"path": frame["extensions"][0], "events": ["tool_call"]}
        send(type="response", id=frame["id"], result={"protocol": 1, "extensions": [offer]})
    elif frame["type"] == "event":
        judge(frame)
