"""ACP agent that plays scripted turns: `scripted_acp_agent.py FILE`.

The file has the steps of a turn by the text of its prompt. A step is an update, or a request to the client: its result
becomes a message of the agent. The agent ends with its stdin.
"""

import json
import sys

SESSION = "scripted"


def send(**frame):
    print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def update(content):
    send(method="session/update", params={"sessionId": SESSION, "update": content})


def request(number, step):
    send(id=f"step-{number}", method=step["request"], params={"sessionId": SESSION, **step["params"]})
    while True:
        frame = receive()
        if frame.get("id") == f"step-{number}":
            text = json.dumps(frame.get("result", frame.get("error")), sort_keys=True)
            return update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})


def play(steps):
    for number, step in enumerate(steps):
        if "request" in step:
            request(number, step)
        else:
            update(step)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        turns = json.load(file)
    results = {
        "initialize": {"protocolVersion": 1, "agentCapabilities": {}},
        "session/new": {"sessionId": SESSION},
        "session/prompt": {"stopReason": "end_turn"},
    }
    while True:
        frame = receive()
        if "id" not in frame or "method" not in frame:
            continue
        if frame["method"] == "session/prompt":
            play(turns[frame["params"]["prompt"][0]["text"]])
        if frame["method"] in results:
            send(id=frame["id"], result=results[frame["method"]])
        else:
            send(id=frame["id"], error={"code": -32601, "message": f"Method not found: {frame['method']}"})


main()
