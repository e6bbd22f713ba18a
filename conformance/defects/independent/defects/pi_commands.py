"""Defects of pi in the effects of commands and in the data of their answers."""

from changes import DefectCollection, answers, withhold_command, drop, edit, is_answer, is_event, without_members, change_command, put, renamed, without

BOOK = DefectCollection("pi")
pi = BOOK.defect

STATE = "command get_state"
MESSAGES = "command get_messages"
HISTORY = "plain-history"


def changing_id(frame, state):
    """Gives the session a different id in each answer."""
    if is_answer(frame, "get_state"):
        state["count"] = state.get("count", 0) + 1
        frame["data"]["sessionId"] = f"s-{state['count']}"
    return frame


def stopped(frame):
    return is_event(frame, "message_end") and frame["message"].get("stopReason") == "aborted"


def dialog(frame):
    return frame.get("type") == "extension_ui_request"


def each(path, change):
    """Changes every element of a list."""
    return lambda frame: [change(it) for it in frame["data"][path]]


pi("abort-does-nothing", "an abort is answered and does nothing", "plain-abort", "abort|stop|aborted", heard=withhold_command("abort"))
pi("abort-unanswered", "an abort is not answered", "plain-abort", "abort", drop("command abort"))
pi("aborted-says-stop", "an answer that was stopped says `stop`", "plain-abort", "stopReason|stop", put(stopped, "message.stopReason", "stop"))
pi("aborted-is-lost", "what was said until an abort is not in the history", "plain-abort", "messages|history|messageCount", put(MESSAGES, "data.messages", lambda it: it[:1] + it[2:]))
pi("history-without-prompts", "the history has no prompts", HISTORY, "messages|history", put(MESSAGES, "data.messages", lambda it: [one for one in it if one["role"] != "user"]))
pi("history-newest-first", "the history begins with the newest", HISTORY, "messages|history", put(MESSAGES, "data.messages", lambda it: it[::-1]))
pi("history-as-data", "the history is the data itself", HISTORY, "data", put(MESSAGES, "data", lambda it: it["messages"]))
pi("history-one-less", "the last message is not in the history", HISTORY, "messages|history", put(MESSAGES, "data.messages", lambda it: it[:-1]))
pi("second-prompt-taken", "a second prompt during a run succeeds", "plain-second-prompt", "success|refused|prompt", answers(lambda it: {**without_members(it, "error"), "success": True} if it.get("command") == "prompt" else it))
pi("prompt-lost", "the model is not sent what the prompt says", "plain-state", "requests|prompt|messages|model", heard=change_command("prompt", lambda it: it.update(message="")))
pi("images-lost", "the model is not sent the images of a prompt", "plain-image", "requests|image", heard=change_command("prompt", lambda it: it.pop("images", None)))

pi("never-streaming", "the state never says that the agent is streaming", "plain-state", "isStreaming", put(STATE, "data.isStreaming", False))
pi("always-streaming", "the state always says that the agent is streaming", "plain-state", "isStreaming", put(STATE, "data.isStreaming", True))
pi("streaming-in-snake-case", "the state has `is_streaming`", "plain-state", "isStreaming", renamed(STATE, "data.isStreaming", "is_streaming"))
pi("count-of-turns", "`messageCount` counts turns", "plain-state", "messageCount", put(STATE, "data.messageCount", lambda it: it // 2))
pi("no-pending-count", "the state has no `pendingMessageCount`", "abort-idle", "pendingMessageCount", without(STATE, "data.pendingMessageCount"))
pi("no-session-id", "the state has no `sessionId`", "abort-idle", "sessionId", without(STATE, "data.sessionId"))
pi("session-id-changes", "the session has another id each time", "abort-before-first-byte", "sessionId", changing_id)
pi("model-as-text", "the model of the state is its name", "abort-idle", "model", put(STATE, "data.model", lambda it: it["id"]))
pi("model-without-window", "a model has no `contextWindow`", "set-model", "contextWindow", without("command set_model", "data.contextWindow"))
pi("level-not-set", "a thinking level is accepted and not set", "thinking-levels", "thinkingLevel|level", heard=withhold_command("set_thinking_level"))
pi("level-renamed", "the data of `cycle_thinking_level` has `thinkingLevel`", "thinking-levels", "level", renamed("command cycle_thinking_level", "data.level", "thinkingLevel"))
pi("level-unknown", "a thinking level is `extreme`", "thinking-levels", "level", put("command cycle_thinking_level", "data.level", "extreme"))
pi("mode-not-set", "a queue mode is accepted and not set", "queue-modes", "steeringMode", heard=withhold_command("set_steering_mode"))
pi("name-not-set", "the name of a session is accepted and not set", "session-name", "sessionName", heard=withhold_command("set_session_name"))
pi("model-not-set", "a model is answered with and not set", "set-model", "model", heard=change_command("set_model", lambda it: it.update(type="get_state")))

pi("bash-code-as-text", "the exit code of `bash` is a text", "bash-basic", "exitCode", put("command bash", "data.exitCode", str))
pi("bash-code-zero", "`bash` always ends with 0", "bash-basic", "exitCode", put("command bash", "data.exitCode", 0))
pi("bash-code-of-failures", "failures of `bash` end with 0", "bash-then-prompt bash-basic", "exitCode", put("command bash", "data.exitCode", lambda it: 0 if it else it))
pi("bash-code-one", "every failure of `bash` ends with 1", "bash-basic", "exitCode", put("command bash", "data.exitCode", lambda it: 1 if it else it))
pi("bash-output-lost", "`bash` has no output", "bash-basic", "output", put("command bash", "data.output", ""))
pi("bash-not-truncated", "`bash` does not say whether its output was cut", "bash-basic", "truncated", without("command bash", "data.truncated"))
pi("bash-never-cancelled", "a command that was stopped was not cancelled", "bash-abort", "cancelled", put("command bash", "data.cancelled", False))
pi("bash-not-stopped", "`abort_bash` is answered and does nothing", "bash-abort", "abort_bash|bash|cancelled|exitCode", heard=withhold_command("abort_bash"))
pi("output-made-up", "an output that was cut is another text", "tool-bash-big-output", "output|text|result", put("tool_execution_end", "result.content.0.text", "…"))
pi("cut-without-facts", "a result that was cut does not say that it was", "tool-bash-big-output", "truncation|details", put("tool_execution_end", "result.details", {}))
pi("cut-with-wrong-facts", "a result that was cut says a wrong number of lines", "tool-bash-big-output", "totalLines|truncation", put("tool_execution_end", "result.details.truncation.totalLines", 7))

pi("new-session-ignored", "`new_session` is answered and does nothing", "new-session", "session|messages|messageCount", heard=withhold_command("new_session", {"data": {"cancelled": False}}))
pi("new-session-cancelled", "`new_session` says that it was cancelled", "new-session", "cancelled", put("command new_session", "data.cancelled", True))
pi("new-session-no-data", "`new_session` has no data", "new-session", "data", without("command new_session", "data"))
pi("switch-ignored", "`switch_session` is answered and does nothing", "switch-session", "session|messages", heard=withhold_command("switch_session", {"data": {"cancelled": False}}))
pi("models-one-less", "one model is missing in `get_available_models`", "available-models", "models", put("command get_available_models", "data.models", lambda it: it[1:]))
pi("models-as-names", "`get_available_models` lists names", "available-models", "models", put("command get_available_models", "data.models", lambda it: [one["id"] for one in it]))
pi("last-text-of-another", "`get_last_assistant_text` gives another text", "last-assistant-text", "text", put("command get_last_assistant_text", "data.text", "something else"))
pi("commands-without-source", "commands do not say where they come from", "get-commands", "source", edit("command get_commands", each("commands", lambda it: it.pop("source", None))))
pi("compact-no-summary", "`compact` has no summary", "compact-ok", "summary", without("command compact", "data.summary"))
pi("compact-ignored", "`compact` is answered and does nothing", "compact-ok", "compact|summary|data|request", heard=withhold_command("compact"))
pi("fork-no-text", "`fork` has no text", "fork", "text", without("command fork", "data.text"))
pi("fork-messages-renamed", "the messages to fork at have `id`", "fork", "entryId", edit("command get_fork_messages", each("messages", lambda it: it.update(id=it.pop("entryId")))))
pi("stats-total-wrong", "the total of the tokens is wrong", "multi-turn", "total", put("command get_session_stats", "data.tokens.total", lambda it: it + 1))
pi("export-no-path", "`export_html` does not say where", "export-html", "path", without("command export_html", "data.path"))
pi("dialog-id-missing", "questions have no id", "ext-ui-values", "id", without(dialog, "id"))
pi("dialog-options-missing", "a choice has no options", "ext-ui-values", "options", without(dialog, "options"))
pi("dialog-method-renamed", "a choice is called `choose`", "ext-ui-values", "choose|select", put(lambda it: it.get("method") == "select", "method", "choose"))
