"""Defects of Operator, whose agent answers a command at its end and sends events in an envelope."""

from changes import DefectCollection, answers, body, withhold_command, drop, edit, is_answer, late, without_members, change_command, put, renamed, twice, without

BOOK = DefectCollection("operator")
operator = BOOK.defect

RUN = "d01_prompt_answered_at_completion"
COMMANDS = "d03_commands"
BUSY = "d04_busy_and_abort"
STATE = "command get_state"
END = "message_end"


def flat(frame, state):
    return frame["event"] if frame.get("type") == "event" else frame


def has_message(frame):
    return isinstance(body(frame).get("message"), dict)


def succeeds(command):
    """Replaces the rejection of a command by a success."""
    return answers(lambda it: {**without_members(it, "error"), "success": True, "data": {}} if it.get("command") == command else it)


def so_far(frame, state):
    """Adds the whole text so far to updates."""
    event = body(frame)
    if event.get("type") == "message_update":
        for at, part in enumerate(event["message"]["contents"]):
            state[at] = state.get(at, "") + part["content"]
            part["content"] = state[at]
    return frame


operator("events-flat", "events come without their envelope", RUN, "envelope|event", flat)
operator("envelope-renamed", "events stand in `data`", RUN, "envelope|event", lambda it, state: {"type": "event", "data": it["event"]} if it.get("type") == "event" else it)
operator("no-agent-start", "`agent_start` never comes", RUN, "agent_start", drop("agent_start"))
operator("no-turn-end", "`turn_end` never comes", RUN, "turn_end", drop("turn_end"))
operator("no-message-end", "`message_end` never comes", RUN, END, drop(END))
operator("no-agent-end", "`agent_end` never comes", RUN, "agent_end", drop("agent_end"))
operator("agent-end-twice", "`agent_end` comes twice", RUN, "agent_end", twice("agent_end"))
operator("agent-end-late", "`agent_end` comes behind the answer", RUN, "agent_end|order|prompt", late("agent_end", "command prompt"))
operator("agent-end-without-messages", "`agent_end` has no messages", RUN, "messages", without("agent_end", "messages"))
operator("updates-so-far", "updates have all of the text so far", RUN, "content|message_update", so_far)
operator("content-not-contents", "messages have `content`", RUN, "contents", renamed(has_message, "message.contents", "content"))
operator("role-missing", "messages have no role", RUN, "role", without(END, "message.role"))
operator("role-unknown", "the role of answers is `model`", RUN, "role", put(END, "message.role", "model"))
operator("message-without-id", "messages have no id", RUN, "id", without(END, "message.id"))
operator("text-as-contents", "the contents are a text", RUN, "contents", put(END, "message.contents", "Hello"))
operator("time-as-text", "times are texts", RUN, "timestamp", put(END, "message.timestamp", "2026-01-02T03:04:05Z"))
operator("prompt-lost", "the model is not sent what the prompt says", RUN, "requests|model|prompt", heard=change_command("prompt", lambda it: it.update(text="-")))
operator("phase-missing", "the state has no phase", COMMANDS, "phase", without(STATE, "data.phase"))
operator("phase-unknown", "the phase is `waiting`", COMMANDS, "phase", put(STATE, "data.phase", "waiting"))
operator("streaming-as-text", "`is_streaming` is a text", COMMANDS, "is_streaming", put(STATE, "data.is_streaming", "no"))
operator("id-left-out", "answers have no id", COMMANDS, "id|answer", answers(lambda it: without_members(it, "id")))
operator("id-null", "an answer to a command without an id has `id: null`", COMMANDS, "id", answers(lambda it: {"id": None, **it}))
operator("no-data", "a success has no data", COMMANDS, "data", without(lambda it: is_answer(it, "abort"), "data"))
operator("failure-without-error", "a failure has no error", COMMANDS, "error", answers(lambda it: without_members(it, "error")))
operator("unknown-succeeds", "an unknown command succeeds", COMMANDS, "success|teleport", succeeds("teleport"))
operator("missing-file-taken", "a session file that is missing is taken", COMMANDS, "success|switch_session", succeeds("switch_session"))
operator("abort-does-nothing", "an abort does nothing", BUSY, "abort|agent_end|prompt|end", heard=withhold_command("abort", {"data": {}}))
operator("abort-unanswered", "an abort is not answered", BUSY, "abort", drop("command abort"))
operator("busy-compact-taken", "`compact` succeeds during a turn", BUSY, "success|compact", succeeds("compact"))
operator("name-not-set", "what is set is not kept", "21_setters", "session_name|phase|level|model|data", heard=withhold_command("set_session_name", {"data": {}}))
operator("message-count-wrong", "the state counts one message too many", COMMANDS, "message_count", put(STATE, "data.message_count", lambda it: it + 1))
operator("session-id-missing", "the state has no `session_id`", COMMANDS, "session_id", edit(STATE, lambda it: it["data"].pop("session_id", None)))
