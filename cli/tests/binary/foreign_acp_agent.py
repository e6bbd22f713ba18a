"""A small ACP agent that is not made of agentese.

It asks for a permission with a diff before an edit, sends a plan and usage, and loads a session with two messages of the user
in a row.
"""

import json
import sys

OPTIONS = [
    {"optionId": "yes", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "no", "name": "Deny", "kind": "reject_once"},
]


def send(**members):
    print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)


def reject(frame_id, code, message):
    send(id=frame_id, error={"code": code, "message": message})


def update(tag, session="s1", /, **members):
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": tag, **members}})


def text(tag, words, session="s1", /, **members):
    update(tag, session, content={"type": "text", "text": words}, **members)


def begin_edit():
    entries = [{"content": "Change the file", "priority": "high", "status": "in_progress"}]
    update("plan", entries=entries)
    update("usage_update", used=1200, size=200000)
    update("tool_call", toolCallId="c1", title="Cleans up", kind="edit", status="pending")
    diff = {"type": "diff", "path": "/work/a.txt", "oldText": "old line\n", "newText": "new line\n"}
    call = {"toolCallId": "c1", "title": "Cleans up", "content": [diff]}
    send(id="p1", method="session/request_permission", params={"sessionId": "s1", "toolCall": call, "options": OPTIONS})


def end_edit(prompt, outcome):
    is_allowed = outcome.get("optionId") == "yes"
    update("tool_call_update", toolCallId="c1", status="completed" if is_allowed else "failed")
    end_turn(prompt, "Changed." if is_allowed else "Kept.")


def end_turn(prompt, words):
    text("agent_message_chunk", words)
    usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
    send(id=prompt, result={"stopReason": "end_turn", "usage": usage})


def load(frame_id, session):
    text("user_message_chunk", "First words.", session, messageId="u1")
    text("user_message_chunk", "Second words.", session, messageId="u2")
    text("agent_message_chunk", "Both.", session, messageId="a1")
    send(id=frame_id, result={})


def main():
    prompt = None
    for line in sys.stdin:
        frame = json.loads(line)
        frame_id, method, params = frame.get("id"), frame.get("method"), frame.get("params") or {}
        if frame.get("jsonrpc") != "2.0":
            reject(None, -32600, "Invalid request")
        elif method == "initialize":
            send(id=frame_id, result={"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        elif method == "session/new":
            send(id=frame_id, result={"sessionId": "s1"})
        elif method == "session/load":
            load(frame_id, params["sessionId"])
        elif method == "session/prompt":
            words = "".join(block.get("text", "") for block in params["prompt"])
            prompt = frame_id
            if words == "edit":
                begin_edit()
            else:
                end_turn(prompt, f"You wrote: {words}")
        elif method is None and frame_id == "p1":
            end_edit(prompt, frame["result"]["outcome"])
        elif method is not None and frame_id is not None:
            reject(frame_id, -32601, f"Method not found: {method}")


main()
