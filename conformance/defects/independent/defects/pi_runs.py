"""Defects of pi in the events of runs and the messages in them."""

from changes import DefectCollection, body, drop, edit, is_event, late, put, renamed, twice, without

BOOK = DefectCollection("pi")
pi = BOOK.defect

STATE = "plain-state"
TEXT = "prompt-text-anthropic"


def part(frame):
    return body(frame).get("assistantMessageEvent", {})


def update(kind):
    return lambda frame: is_event(frame, "message_update") and part(frame).get("type") == kind


def answer(frame):
    return is_event(frame, "message_end") and frame["message"].get("role") == "assistant"


def so_far(frame, state):
    """Replaces each delta by the whole text so far."""
    if update("text_delta")(frame):
        state["text"] = state.get("text", "") + part(frame)["delta"]
        part(frame)["delta"] = state["text"]
    return frame


def in_an_envelope(frame, state):
    return frame if frame.get("type") == "response" else {"type": "event", "event": frame}


for event in ["agent_start", "turn_start", "turn_end", "message_start", "message_end"]:
    pi(f"no-{event}", f"`{event}` never comes", STATE, event, drop(event))
    pi(f"{event}-twice", f"`{event}` comes twice", STATE, event, twice(event))
pi("no-agent-end", "`agent_end` never comes", STATE, "agent_end", drop("agent_end"))
pi("agent-end-without-messages", "`agent_end` has no messages", STATE, "messages", without("agent_end", "messages"))
pi("agent-end-empty", "the messages of `agent_end` are an empty list", STATE, "messages", put("agent_end", "messages", []))
pi("agent-end-early", "`agent_end` comes before `turn_end`", STATE, "turn_end|agent_end", late("turn_end", "agent_end"))
pi("turn-end-without-results", "`turn_end` has no `toolResults`", TEXT, "toolResults", without("turn_end", "toolResults"))
pi("turn-end-without-message", "`turn_end` has no message", TEXT, "message", without("turn_end", "message"))
pi("deltas-so-far", "a delta has the whole text so far", STATE, "text|delta", so_far)
pi("deltas-empty", "deltas are empty", STATE, "delta|text", put("message_update", "assistantMessageEvent.delta", ""))
pi("deltas-renamed", "deltas stand in `text`", STATE, "delta", renamed("message_update", "assistantMessageEvent.delta", "text"))
pi("no-text-end", "`text_end` never comes", TEXT, "text_end", drop(update("text_end")))
pi("text-end-without-content", "`text_end` has no content", TEXT, "content", without(update("text_end"), "assistantMessageEvent.content"))
pi("content-index-one", "blocks are counted from 1", TEXT, "contentIndex", put("message_update", "assistantMessageEvent.contentIndex", lambda it: it + 1))
pi("content-index-as-text", "`contentIndex` is a text", TEXT, "contentIndex", put("message_update", "assistantMessageEvent.contentIndex", str))
pi("content-index-missing", "updates have no `contentIndex`", TEXT, "contentIndex", without("message_update", "assistantMessageEvent.contentIndex"))
pi("update-without-event", "`message_update` has no `assistantMessageEvent`", TEXT, "assistantMessageEvent", without("message_update", "assistantMessageEvent"))
pi("update-in-camel-case", "deltas are of the type `textDelta`", TEXT, "textDelta|text_delta", put(update("text_delta"), "assistantMessageEvent.type", "textDelta"))
pi("thinking-as-text", "thinking comes as text", "plain-thinking", "thinking", put(update("thinking_delta"), "assistantMessageEvent.type", "text_delta"))
pi("in-an-envelope", "events stand in an envelope", STATE, "envelope|event", in_an_envelope)
pi("events-in-camel-case", "an event is called `agentEnd`", STATE, "agentEnd|agent_end", put("agent_end", "type", "agentEnd"))

pi("no-usage", "an answer has no usage", TEXT, "usage", without(answer, "message.usage"))
pi("usage-zero", "the usage is always 0", TEXT, "usage", put(answer, "message.usage.input", 0))
pi("usage-swapped", "tokens in and out are swapped", TEXT, "usage", put(answer, "message.usage", lambda it: {**it, "input": it["output"], "output": it["input"]}))
pi("usage-in-snake-case", "the usage has `cache_read`", TEXT, "cacheRead|cache_read", renamed(answer, "message.usage.cacheRead", "cache_read"))
pi("cost-missing", "the usage has no cost", TEXT, "cost", without(answer, "message.usage.cost"))
pi("cost-as-text", "costs are texts", TEXT, "cost", put(answer, "message.usage.cost.total", lambda it: f"${it:.4f}"))
pi("stop-reason-end-turn", "the stop reason is the provider's `end_turn`", TEXT, "stopReason", put(answer, "message.stopReason", "end_turn"))
pi("stop-reason-missing", "an answer has no stop reason", TEXT, "stopReason", without(answer, "message.stopReason"))
pi("stop-reason-length", "every answer was cut by its length", TEXT, "stopReason", put(answer, "message.stopReason", "length"))
pi("stop-reason-of-tools", "an answer with a tool call stops with `stop`", "tool-bash-anthropic", "stopReason", put(answer, "message.stopReason", "stop"))
pi("time-in-seconds", "times are in seconds", TEXT, "timestamp", put(answer, "message.timestamp", lambda it: it // 1000))
pi("time-as-text", "times are ISO texts", TEXT, "timestamp", put(answer, "message.timestamp", "2026-01-02T03:04:05Z"))
pi("time-missing", "an answer has no time", TEXT, "timestamp", without(answer, "message.timestamp"))
pi("role-agent", "the role of answers is `agent`", TEXT, "role", put(answer, "message.role", "agent"))
pi("content-as-text", "the content of an answer is a text", TEXT, "content", put(answer, "message.content", lambda it: it[0]["text"]))
pi("block-with-value", "blocks of text have their text in `value`", TEXT, "text|value", renamed(answer, "message.content.0.text", "value"))
pi("text-cut", "the last character of a text is missing", TEXT, "text", put(answer, "message.content.0.text", lambda it: it[:-1]))
pi("model-missing", "an answer does not name its model", TEXT, "model", without(answer, "message.model"))
pi("provider-of-another", "an answer names another provider", TEXT, "provider", put(answer, "message.provider", "openai"))
pi("null-for-missing", "an answer has `errorMessage: null`", TEXT, "errorMessage", edit(answer, lambda it: it["message"].update(errorMessage=None)))

START, END = "tool_execution_start", "tool_execution_end"
BASH = "tool-bash-anthropic"
pi("no-tool-start", "`tool_execution_start` never comes", "plain-tool", START, drop(START))
pi("no-tool-end", "`tool_execution_end` never comes", "plain-tool", END, drop(END))
pi("tool-id-made-up", "tools have another id than their call", "plain-tool", "toolCallId", put(lambda it: str(it.get("type")).startswith("tool_execution"), "toolCallId", "t-1"))
pi("tool-is-error", "every tool fails", "plain-tool", "isError", put(END, "isError", True))
pi("tool-without-error", "the end of a tool does not say whether it failed", "plain-tool", "isError", without(END, "isError"))
pi("tool-name-missing", "a tool's end does not name the tool", "plain-tool", "toolName", without(END, "toolName"))
pi("tool-result-as-text", "a tool's result is a text", BASH, "result", put(END, "result", "three lines"))
pi("tool-args-as-text", "a tool's arguments are a text", BASH, "args", put(START, "args", "{}"))
pi("tool-args-renamed", "a tool's arguments stand in `arguments`", BASH, "args", renamed(START, "args", "arguments"))
pi("no-retry-start", "`auto_retry_start` never comes", "retry-529-then-ok", "auto_retry_start", drop("auto_retry_start"))
pi("retry-from-zero", "attempts are counted from 0", "retry-529-then-ok", "attempt", put("auto_retry_start", "attempt", lambda it: it - 1))
pi("retry-failed", "a retry that succeeded says that it failed", "retry-529-then-ok", "success", put("auto_retry_end", "success", False))
