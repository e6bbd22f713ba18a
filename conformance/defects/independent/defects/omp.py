"""Defects of omp, about rows that its document adds or changes compared with pi."""

from changes import DefectCollection, answers, withhold_command, drop, edit, is_event, late, without_members, change_command, put, renamed, twice, without

BOOK = DefectCollection("omp")
omp = BOOK.defect

STATE = "command get_state"
FRESH = "get_state_fresh"
TEXT = "prompt_text"
BUSY = "prompt_while_busy"
UNKNOWN = "unknown_command"
REMINDER = "todo_reminder"
RULE = "ttsr_text"


def ends(frame):
    return is_event(frame, "message_end") and frame["message"].get("role") == "assistant"


def asks(frame):
    return frame.get("type") == "extension_ui_request" and frame.get("method") != "setWidget"


def unknown(frame):
    return "Unknown command" in str(frame.get("error"))


omp("mode-not-set", "a steering mode is accepted and not set", FRESH, "steeringMode", heard=withhold_command("set_steering_mode"))
omp("interrupt-mode-not-set", "an interrupt mode is accepted and not set", FRESH, "interruptMode", heard=withhold_command("set_interrupt_mode"))
omp("interrupt-mode-missing", "the state has no `interruptMode`", FRESH, "interruptMode", without(STATE, "data.interruptMode"))
omp("interrupt-mode-unknown", "the interrupt mode is `later`", FRESH, "interruptMode", put(STATE, "data.interruptMode", "later"))
omp("queued-renamed", "the state has `pendingMessageCount`", FRESH, "queuedMessageCount", renamed(STATE, "data.queuedMessageCount", "pendingMessageCount"))
omp("compaction-not-set", "auto compaction is switched off and stays on", FRESH, "autoCompactionEnabled", put(STATE, "data.autoCompactionEnabled", True))
omp("name-not-set", "the name of a session is accepted and not set", "set_session_name", "sessionName|set_session_name", heard=withhold_command("set_session_name"))
omp("name-empty", "an empty name is taken", "set_session_name", "success", answers(lambda it: {**without_members(it, "error"), "success": True} if it.get("command") == "set_session_name" else it))
omp("streaming-as-number", "`isStreaming` is 0 or 1", FRESH, "isStreaming", put(STATE, "data.isStreaming", int))
omp("session-id-missing", "the state has no `sessionId`", FRESH, "sessionId", without(STATE, "data.sessionId"))
omp("model-renamed", "a model has `modelId`", "set_model", "id", renamed("command set_model", "data.id", "modelId"))
omp("model-taken", "a model that there is not is taken", "set_model", "success", answers(lambda it: {**without_members(it, "error"), "success": True} if "not found" in str(it.get("error")) else it))
omp("model-not-set", "a model is answered with and not set", "set_model", "model", heard=change_command("set_model", lambda it: it.update(type="get_state")))
omp("level-not-set", "a thinking level is accepted and not set", "thinking_levels", "thinkingLevel|level", heard=withhold_command("set_thinking_level"))
omp("level-without-name", "`cycle_thinking_level` has the level as its data", "thinking_levels", "data", put("command cycle_thinking_level", "data", lambda it: it["level"]))
omp("unknown-succeeds", "an unknown command succeeds", UNKNOWN, "success", answers(lambda it: {**without_members(it, "error"), "success": True} if unknown(it) else it))
omp("unknown-unanswered", "an unknown command is not answered", UNKNOWN, "answer|no_such", answers(lambda it: None if unknown(it) else it))
omp("malformed-unanswered", "what is no JSON is not answered", "malformed_json", "answer|parse", answers(lambda it: None if it.get("command") == "parse" else it))
omp("id-left-out", "answers have no id", TEXT, "id|answer", answers(lambda it: without_members(it, "id")))
omp("id-in-capitals", "ids of answers are in capitals", TEXT, "id", answers(lambda it: {**it, "id": it["id"].upper()} if "id" in it else it))
omp("prompt-answered-late", "a prompt is answered when its run is over", TEXT, "prompt|order", late("command prompt", "agent_end"))
omp("success-as-text", "`success` is a text", TEXT, "success", answers(lambda it: {**it, "success": str(it["success"]).lower()}))
omp("prompt-lost", "the model is not sent what the prompt says", TEXT, "requests|prompt|messages|model|content", heard=change_command("prompt", lambda it: it.update(message="-")))
for event in ["agent_start", "turn_start", "turn_end", "agent_end"]:
    omp(f"no-{event}", f"`{event}` never comes", TEXT, event, drop(event))
omp("message-end-twice", "`message_end` comes twice", TEXT, "message_end", twice("message_end"))
omp("deltas-empty", "deltas are empty", TEXT, "delta|text", put("message_update", "assistantMessageEvent.delta", ""))
omp("content-index-one", "blocks are counted from 1", TEXT, "contentIndex", put("message_update", "assistantMessageEvent.contentIndex", lambda it: it + 1))
omp("stop-reason-end-turn", "the stop reason is the provider's", TEXT, "stopReason", put(ends, "message.stopReason", "end_turn"))
omp("text-cut", "the last character of a text is missing", TEXT, "text", put(ends, "message.content.0.text", lambda it: it[:-1]))
omp("agent-end-empty", "the messages of `agent_end` are an empty list", TEXT, "messages", put("agent_end", "messages", []))
omp("second-prompt-taken", "a second prompt during a run succeeds", BUSY, "success|prompt|failure|answer", answers(lambda it: {**without_members(it, "error"), "success": True} if it.get("success") is False else it))
omp("second-prompt-silent", "a second prompt during a run is not refused", BUSY, "prompt|answer|failure", answers(lambda it: None if it.get("success") is False else it))
omp("no-reminder", "`todo_reminder` never comes", REMINDER, "todo_reminder", drop("todo_reminder"))
omp("reminder-without-todos", "`todo_reminder` has no `todos`", REMINDER, "todos", without("todo_reminder", "todos"))
omp("reminder-from-zero", "reminders are counted from 0", REMINDER, "attempt", put("todo_reminder", "attempt", lambda it: it - 1))
omp("todos-without-status", "todos have no status", REMINDER, "status", edit("todo_reminder", lambda it: [one.pop("status") for one in it["todos"]]))
omp("no-rule", "`ttsr_triggered` never comes", RULE, "ttsr_triggered", drop("ttsr_triggered"))
omp("rules-as-names", "`ttsr_triggered` has names of rules", RULE, "rules", put("ttsr_triggered", "rules", lambda it: [one["name"] for one in it]))
omp("branch-without-text", "`branch` has no text", "branch", "text", without("command branch", "data.text"))
omp("branch-cancelled", "`branch` says that it was cancelled", "branch", "cancelled", put("command branch", "data.cancelled", True))
omp("entries-renamed", "the messages to branch at have `id`", "branch", "entryId", edit("command get_branch_messages", lambda it: [one.update(id=one.pop("entryId")) for one in it["data"]["messages"]]))
omp("bash-code-zero", "`bash` always ends with 0", "bash", "exitCode", put("command bash", "data.exitCode", 0))
omp("bash-output-lost", "`bash` has no output", "bash", "output", put("command bash", "data.output", ""))
omp("dialog-without-options", "a choice has no options", "ext_dialogs", "options", without(asks, "options"))
omp("dialog-without-id", "questions have no id", "ext_dialogs", "id", without(asks, "id"))
omp("title-renamed", "the title of a question is `question`", "ext_dialogs", "title", renamed(asks, "title", "question"))
omp("no-retry-end", "`auto_retry_end` never comes", "retry_success", "auto_retry_end", drop("auto_retry_end"))
omp("retry-failed", "a retry that succeeded says that it failed", "retry_success", "success", put("auto_retry_end", "success", False))
omp("new-session-ignored", "`new_session` is answered and does nothing", "new_session", "session|messages|messageCount", heard=withhold_command("new_session", {"data": {"cancelled": False}}))
omp("last-text-of-another", "`get_last_assistant_text` gives another text", "last_assistant_text", "text", put("command get_last_assistant_text", "data.text", "something else"))
omp("stats-wrong", "one message too many is counted", "session_stats", "userMessages", put("command get_session_stats", "data.userMessages", lambda it: it + 1))
