"""Defects of Opal, which uses JSON-RPC 2.0: events are notifications, and questions are requests from
the agent.
"""

import copy
import json

from changes import DefectCollection, Pause, body, drop, edit, without_members, change_command, put, renamed, twice, without

BOOK = DefectCollection("opal")
opal = BOOK.defect

META = "01_meta"
START = "02_session_start"
TEXT = "03_prompt_text"
THINKING = "04_thinking"
TOOL = "05_tool_read"
QUEUE = "08_queue_while_busy"
ABORT = "10_abort"
ASK = "12_ask_user"


def answered(frame):
    return "id" in frame and ("result" in frame or "error" in frame)


def refused(frame):
    return answered(frame) and "error" in frame


def every(change):
    """Changes every frame: `change(frame)` returns the replacement."""
    return lambda frame, state: change(frame)


def asked(frame):
    return str(frame.get("method", "")).startswith("client/")


def session(frame):
    return answered(frame) and isinstance(frame.get("result"), dict) and "session_id" in frame["result"]


def history(frame):
    return answered(frame) and isinstance(frame.get("result"), dict) and "messages" in frame["result"]


def withhold_command(method, result):
    """Does not forward a request to the agent. The proxy answers it instead."""

    def heard(line, state):
        if f'"{method}"' not in line:
            return line, []
        return None, [{"id": json.loads(line)["id"], "jsonrpc": "2.0", "result": result}]

    return heard


opal("version-missing", "frames have no `jsonrpc`", META, "jsonrpc", every(lambda it: without_members(it, "jsonrpc")))
opal("version-as-number", "`jsonrpc` is a number", META, "jsonrpc", every(lambda it: {**it, "jsonrpc": 2.0}))
opal("id-as-text", "numeric ids come back as texts", META, "id", every(lambda it: {**it, "id": str(it["id"])} if answered(it) else it))
opal("id-left-out", "answers have no id", META, "id|answer", every(lambda it: without_members(it, "id") if answered(it) else it))
opal("id-one-more", "answers have the next id", META, "id|answer", every(lambda it: {**it, "id": it["id"] + 1} if answered(it) and isinstance(it["id"], int) else it))
opal("answers-twice", "every answer comes twice", META, "answer", twice(answered))
opal("result-and-error", "a result has `error: null` beside it", META, "error", every(lambda it: {**it, "error": None} if answered(it) and "result" in it else it))
opal("code-as-text", "codes of errors are texts", META, "code", put(refused, "error.code", str))
opal("code-zero", "the code of every error is 0", META, "code", put(refused, "error.code", 0))
opal("error-as-text", "errors are texts", META, "error", put(refused, "error", lambda it: it["message"]))
opal("message-missing", "errors have no message", META, "message", without(refused, "error.message"))
opal("malformed-unanswered", "what is no JSON is not answered", META, "answer", drop(lambda it: refused(it) and it["error"]["code"] == -32700))
opal("unknown-succeeds", "an unknown method succeeds", META, "result|error|success", every(lambda it: {**without_members(it, "error"), "result": {}} if refused(it) and it["error"]["code"] == -32601 else it))
opal("version-renamed", "the version is in camel case", META, "protocol_version", renamed(answered, "result.protocol_version", "protocolVersion"))
opal("slow-answers", "every answer takes six seconds", "18_models", "latency|took|seconds", every(lambda it: [Pause(6), it] if answered(it) else it))
opal("no-session-id", "a session that starts has no id", START, "session_id", without(session, "result.session_id"))
opal("queued-as-text", "`queued` is a text", TEXT, "queued", put(answered, "result.queued", "false"))
opal("queued-always", "every prompt says that it is queued", TEXT, "queued", put(answered, "result.queued", True))
opal("events-as-methods", "the type of an event is its method", TEXT, "method|agent/event|agent_start|message_delta", every(lambda it: {**it, "method": f"agent/{body(it)['type']}"} if it.get("method") == "agent/event" else it))
opal("events-without-session", "events do not name their session", TEXT, "session_id", every(lambda it: {**it, "params": without_members(it["params"], "session_id")} if it.get("method") == "agent/event" else it))
opal("events-with-id", "events have an id", TEXT, "id|event", every(lambda it: {**it, "id": 77} if it.get("method") == "agent/event" else it))
for event in ["agent_start", "message_start", "message_delta", "usage_update", "agent_end"]:
    opal(f"no-{event}", f"`{event}` never comes", TEXT, f"{event}|wait", drop(event))
opal("agent-end-twice", "`agent_end` comes twice", TEXT, "agent_end", twice("agent_end"))
opal("delta-renamed", "deltas stand in `text`", TEXT, "delta", renamed("message_delta", "delta", "text"))
opal("deltas-empty", "deltas are empty", TEXT, "delta", put("message_delta", "delta", ""))
opal("usage-wrong", "tokens are counted one too many", TEXT, "total_tokens|usage", put("agent_end", "usage.total_tokens", lambda it: it + 1))
opal("usage-missing", "the end of a run has no usage", TEXT, "usage", without("agent_end", "usage"))
opal("prompt-lost", "the model is not sent what the prompt says", TEXT, "requests|model|prompt|content", heard=change_command("agent/prompt", lambda it: it["params"].update(text="-")))
opal("no-thinking", "`thinking_delta` never comes", THINKING, "thinking_delta", drop("thinking_delta"))
opal("thinking-as-text", "thinking comes as text", THINKING, "thinking_delta|message_delta|thinking", put("thinking_delta", "type", "message_delta"))
opal("no-turn-end", "`turn_end` never comes", TOOL, "turn_end", drop("turn_end"))
opal("no-tool-end", "`tool_execution_end` never comes", TOOL, "tool_execution_end", drop("tool_execution_end"))
opal("call-renamed", "the calls of tools have `tool_call_id`", TOOL, "call_id", renamed("tool_execution_start", "call_id", "tool_call_id"))
opal("tool-failed", "every tool says that it failed", TOOL, "ok|result", put("tool_execution_end", "result.ok", False))
opal("tool-name-missing", "a tool's end does not name the tool", TOOL, "tool", without("tool_execution_end", "tool"))
opal("history-one-less", "the last message is not in the history", TOOL, "messages", put(history, "result.messages", lambda it: it[:-1]))
opal("history-with-models", "answers have the role `model` in the history", TOOL, "role", edit(history, lambda it: [one.update(role="model") for one in it["result"]["messages"] if one["role"] == "assistant"]))
opal("not-queued", "`message_queued` never comes", QUEUE, "message_queued", drop("message_queued"))
opal("not-applied", "`message_applied` never comes", QUEUE, "message_applied", drop("message_applied"))
opal("abort-silent", "`agent_abort` never comes", ABORT, "agent_abort", drop("agent_abort"))
opal("abort-ignored", "an abort is answered and does nothing", ABORT, "agent_abort|abort", heard=withhold_command("agent/abort", {}))
opal("question-without-id", "questions have no id", ASK, "id|client/ask_user", without(asked, "id"))
opal("question-renamed", "the question is `prompt`", ASK, "question", renamed(asked, "params.question", "prompt"))
opal("choices-missing", "a question has no choices", ASK, "choices", without(asked, "params.choices"))
opal("questions-twice", "every question comes twice", ASK, "client/ask_user|ask_user", lambda it, state: [it, copy.deepcopy(it)] if asked(it) else it)
