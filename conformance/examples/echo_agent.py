#!/usr/bin/env python3
"""A small agent that speaks a part of the pi dialect: it talks to a model and has no tools."""

import json, os, sys, threading, time, urllib.request as http

MODEL, messages, writing = json.load(open(os.environ["ECHO_MODEL"])), [], threading.Lock()
STATE = {"model": MODEL, "thinkingLevel": "medium", "isStreaming": False, "isCompacting": False, "steeringMode": "one-at-a-time",
         "followUpMode": "one-at-a-time", "sessionId": f"echo-{os.getpid()}", "sessionFile": os.path.abspath("session.jsonl"),
         "autoCompactionEnabled": True, "pendingMessageCount": 0}

def send(**frame):
    with writing:  # One line at a time, from all threads.
        print(json.dumps(frame), flush=True)

def usage(read=0, written=0):
    cost = {"input": MODEL["cost"]["input"] / 1e6 * read, "output": MODEL["cost"]["output"] / 1e6 * written}
    return {"input": read, "output": written, "cacheRead": 0, "cacheWrite": 0, "totalTokens": read + written,
            "cost": {**cost, "cacheRead": 0, "cacheWrite": 0, "total": sum(cost.values())}}

def stream(answer, block):
    def update(kind, **rest):
        send(type="message_update", message=answer, assistantMessageEvent={"type": kind, "contentIndex": 0, "partial": answer, **rest})
    body = {"model": MODEL["id"], "max_tokens": 1024, "stream": True, "system": "You are a small agent.",
            "messages": [{"role": it["role"], "content": it["content"]} for it in messages if it["content"]]}
    headers = {"content-type": "application/json", "x-api-key": os.environ["ECHO_KEY"], "anthropic-version": "2023-06-01"}
    with http.urlopen(http.Request(MODEL["baseUrl"] + "/v1/messages", json.dumps(body).encode(), headers)) as lines:
        for event in (json.loads(line[5:]) for line in lines if line.startswith(b"data:")):
            if event["type"] == "message_start":
                answer.update(content=[block], usage=usage(event["message"]["usage"]["input_tokens"], 1))
                update("text_start")
            elif event["type"] == "content_block_delta":
                block["text"] += event["delta"]["text"]
                update("text_delta", delta=event["delta"]["text"])
            elif event["type"] == "message_delta":
                answer["usage"] = usage(answer["usage"]["input"], event["usage"]["output_tokens"])
    update("text_end", content=block["text"])

def run(text, now):
    answer = {"role": "assistant", "content": [], "api": MODEL["api"], "provider": MODEL["provider"], "model": MODEL["id"],
              "usage": usage(), "stopReason": "stop", "timestamp": now}
    send(type="agent_start"); send(type="turn_start")
    for message in ({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": now}, answer):
        messages.append(message)
        send(type="message_start", message=message)
        try:
            message is answer and stream(answer, {"type": "text", "text": ""})
        except (OSError, LookupError, ValueError) as error:  # A failure of the model is a failure of the answer.
            answer.update(stopReason="error", errorMessage=str(error))
        print(json.dumps(message), file=open(STATE["sessionFile"], "a"))
        send(type="message_end", message=message)
    send(type="turn_end", message=answer, toolResults=[])
    STATE["isStreaming"] = False
    send(type="agent_end", messages=messages[-2:])

for line in sys.stdin.buffer:  # Only a line feed ends a line.
    answer = {"type": "response", "command": "parse"}
    try:
        command = json.loads(line.decode())
        answer.update({key: command[key] for key in command if key == "id" and isinstance(command["type"], str)}, command=command["type"])
        data = {"get_state": {**STATE, "messageCount": len(messages)}, "get_messages": {"messages": messages}}
        starts = command["type"] == "prompt" and threading.Thread(target=run, args=(command["message"] + "", int(time.time() * 1000)))
        if starts and STATE["isStreaming"]: raise ValueError("Agent is already processing.")
        send(**answer, success=True, **({} if starts else {"data": data[command["type"]]}))
        STATE["isStreaming"] |= bool(starts)
        starts and starts.start()
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        name = "null" if answer["command"] is None else str(answer["command"])
        why = {"parse": f"Failed to parse command: {error}", "prompt": str(error)}.get(name, f"Unknown command: {name}")
        send(**answer, success=False, error=why)
