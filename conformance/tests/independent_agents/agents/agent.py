#!/usr/bin/env python3
"""A third-party chat agent: prompt, abort, get_state, get_messages. It has its own model and keeps no files."""

import http.client
import json
import os
import sys
import threading
import time
import urllib.parse

URL = urllib.parse.urlparse(os.environ["MY_MODEL_URL"])
MODEL = {
    "id": "tiny-1", "name": "Tiny One", "api": "anthropic-messages", "provider": "tiny", "baseUrl": URL.geturl(),
    "reasoning": False, "input": ["text"], "contextWindow": 32000, "maxTokens": 2048,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
}


def now():
    return int(time.time() * 1000)


def usage(tokens_in, tokens_out):
    return {
        "input": tokens_in, "output": tokens_out, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens_in + tokens_out,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
    }


class Agent:
    def __init__(self):
        self.messages = []
        self.streaming = False
        self.aborted = False
        self.connection = None
        self.worker = None
        self.socket = None
        self.lock = threading.RLock()

    def send(self, frame):
        with self.lock:
            sys.stdout.write(json.dumps(frame) + "\n")
            sys.stdout.flush()

    def state(self):
        return {
            "model": MODEL, "thinkingLevel": "off", "isStreaming": self.streaming, "isCompacting": False,
            "steeringMode": "one-at-a-time", "followUpMode": "one-at-a-time", "sessionId": f"chat-{os.getpid()}",
            "autoCompactionEnabled": False, "messageCount": len(self.messages), "pendingMessageCount": 0,
        }

    def run(self, text):
        user = {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": now()}
        self.send({"type": "agent_start"})
        self.send({"type": "turn_start"})
        self.send({"type": "message_start", "message": user})
        self.send({"type": "message_end", "message": user})
        self.messages.append(user)
        answer = {
            "role": "assistant", "content": [], "api": MODEL["api"], "provider": MODEL["provider"], "model": MODEL["id"],
            "usage": usage(0, 0), "stopReason": "stop", "timestamp": now(),
        }
        self.send({"type": "message_start", "message": answer})
        try:
            self.stream(answer)
        except (OSError, ValueError, http.client.HTTPException, AttributeError) as error:
            if not self.aborted:
                answer.update(stopReason="error", errorMessage=str(error))
        if self.aborted:
            answer.update(stopReason="aborted", errorMessage="the run was aborted")
        self.messages.append(answer)
        self.send({"type": "message_end", "message": answer})
        self.send({"type": "turn_end", "message": answer, "toolResults": []})
        self.streaming = False
        self.send({"type": "agent_end", "messages": [user, answer]})

    def stream(self, answer):
        body = json.dumps({
            "model": MODEL["id"], "max_tokens": MODEL["maxTokens"], "stream": True,
            "messages": [{"role": it["role"], "content": it["content"]} for it in self.messages if it["content"]],
        })
        headers = {"content-type": "application/json", "x-api-key": "fake-key", "anthropic-version": "2023-06-01"}
        self.connection = http.client.HTTPConnection(URL.netloc)
        self.connection.request("POST", "/v1/messages", body, headers)
        self.socket = self.connection.sock
        response = self.connection.getresponse()
        if response.status != 200:
            raise ValueError(f"the model answers {response.status}: {response.read().decode(errors='replace')}")
        tokens = 0
        while not self.aborted:
            line = response.readline()
            if not line:
                raise ValueError("the model's answer broke off")
            if not line.startswith(b"data:"):
                continue
            event = json.loads(line[5:])
            if event["type"] == "message_start":
                tokens = event["message"]["usage"]["input_tokens"]
            elif event["type"] == "content_block_start":
                answer["content"] = [{"type": "text", "text": ""}]
                self.update(answer, "text_start")
            elif event["type"] == "content_block_delta":
                answer["content"][0]["text"] += event["delta"]["text"]
                self.update(answer, "text_delta", delta=event["delta"]["text"])
            elif event["type"] == "content_block_stop":
                self.update(answer, "text_end", content=answer["content"][0]["text"])
            elif event["type"] == "message_delta":
                answer["usage"] = usage(tokens, event["usage"]["output_tokens"])
            elif event["type"] == "error":
                raise ValueError(event["error"]["message"])
            elif event["type"] == "message_stop":
                return

    def update(self, answer, kind, **rest):
        change = {"type": kind, "contentIndex": 0, "partial": answer, **rest}
        self.send({"type": "message_update", "message": answer, "assistantMessageEvent": change})

    def abort(self):
        self.aborted = self.streaming
        if self.socket:
            try:
                self.socket.shutdown(2)
            except OSError:
                pass

    def command(self, line):
        answer = {"type": "response", "command": "parse", "success": False}
        try:
            command = json.loads(line)
            kind = command["type"]
        except (ValueError, KeyError, TypeError) as error:
            return self.send({**answer, "error": f"Failed to parse command: {error}"})
        answer["command"] = kind
        if "id" in command:
            answer = {"id": command["id"], **answer}
        if kind == "get_state":
            self.send({**answer, "success": True, "data": self.state()})
        elif kind == "get_messages":
            self.send({**answer, "success": True, "data": {"messages": self.messages}})
        elif kind == "abort":
            self.abort()
            if self.worker:
                self.worker.join()  # The answer follows the end of the run.
            self.send({**answer, "success": True})
        elif kind == "prompt" and not isinstance(command.get("message"), str):
            self.send({**answer, "error": "`message` has to be a text"})
        elif kind == "prompt" and self.streaming:
            self.send({**answer, "error": "The agent is working; wait for agent_end."})
        elif kind == "prompt":
            self.streaming, self.aborted = True, False
            self.send({**answer, "success": True})
            self.worker = threading.Thread(target=self.run, args=[command["message"]])
            self.worker.start()
        else:
            self.send({**answer, "error": f"Unknown command: {kind}"})


agent = Agent()
for line in sys.stdin.buffer:
    if line.strip():
        agent.command(line)
