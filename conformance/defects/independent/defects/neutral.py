"""Neutral changes: they violate no document, and clients should accept them."""

import copy
import json

from changes import DefectCollection, body, is_event

CASES = {
    "pi": "plain-history plain-abort plain-tool plain-ids abort-streaming tool-bash-anthropic",
    "omp": "prompt_text set_model prompt_tool_bash ext_dialogs",
    "pisces": "budget_cost budget_input_tokens",
    "operator": "d01_prompt_answered_at_completion d03_commands d04_busy_and_abort",
    "opal": "03_prompt_text 05_tool_read 12_ask_user",
}


def reverse(value):
    if isinstance(value, dict):
        return {key: reverse(value[key]) for key in reversed(value)}
    return [reverse(item) for item in value] if isinstance(value, list) else value


def more(frame, state):
    """Adds an undeclared member to the frame and to its payload."""
    for holder in [body(frame)] + [body(frame).get(name) for name in ("message", "data", "result")]:
        if isinstance(holder, dict):
            holder["com.example.extra"] = {"more": True}
    return frame


def unknown_event(frame, state):
    """Adds an undeclared event after each start of a turn or a message."""
    if not (is_event(frame, "turn_start") or is_event(frame, "message_start")):
        return frame
    other = copy.deepcopy(frame)
    event = body(other)
    kept = {name: event[name] for name in ("session_id",) if name in event}
    event.clear()
    event.update({"type": "com.example.progress", "percent": 50, **kept})
    return [frame, other]


def pieces(text):
    return [text[:1], text[1:]]


def split(frame, state):
    """Splits each streamed piece of text in two, and removes the message so far."""
    event = body(frame)
    if event.get("type") == "message_delta" and len(event["delta"]) > 1:
        return with_pieces(frame, lambda it, piece: body(it).update(delta=piece), event["delta"])
    if event.get("type") != "message_update":
        return frame
    if "assistantMessageEvent" not in event:
        parts = event["message"]["contents"]
        if len(parts) == 1 and parts[0].get("type") == "text" and len(parts[0]["content"]) > 1:
            return with_pieces(frame, lambda it, piece: body(it)["message"]["contents"][0].update(content=piece), parts[0]["content"])
        return frame
    event.pop("message", None)
    event["assistantMessageEvent"].pop("partial", None)
    text = event["assistantMessageEvent"].get("delta", "")
    if event["assistantMessageEvent"].get("type") != "text_delta" or len(text) < 2:
        return frame
    return with_pieces(frame, lambda it, piece: it["assistantMessageEvent"].update(delta=piece), text)


def with_pieces(frame, put, text):
    copies = []
    for piece in pieces(text):
        other = copy.deepcopy(frame)
        put(other, piece)
        copies.append(other)
    return copies


def text_delta(frame):
    return is_event(frame, "message_update") and frame.get("assistantMessageEvent", {}).get("type") == "text_delta"


def join(frame, state):
    """Joins consecutive streamed pieces of text, and removes the message so far."""
    if text_delta(frame):
        frame.pop("message", None)
        frame["assistantMessageEvent"].pop("partial", None)
        before = state.get("kept")
        if before:
            before["assistantMessageEvent"]["delta"] += frame["assistantMessageEvent"]["delta"]
        else:
            state["kept"] = frame
        if len(state["kept"]["assistantMessageEvent"]["delta"]) < 12:
            return None
        return state.pop("kept")
    if is_event(frame, "message_update"):
        frame.pop("message", None)
        frame["assistantMessageEvent"].pop("partial", None)
    kept = state.pop("kept", None)
    return [kept, frame] if kept else frame


def bare(frame, state):
    """Removes the message so far from update events."""
    if is_event(frame, "message_update") and "assistantMessageEvent" in frame:
        frame.pop("message", None)
        frame["assistantMessageEvent"].pop("partial", None)
    return frame


def other_times(frame, state):
    """Sets all times of the agent one hour later."""

    def later(value):
        if isinstance(value, dict):
            return {key: it + 3_600_000 if key == "timestamp" and isinstance(it, int) else later(it) for key, it in value.items()}
        return [later(item) for item in value] if isinstance(value, list) else value

    return later(frame)


def reworded(frame, state):
    if frame.get("success") is False and "already" in str(frame.get("error")):
        frame["error"] = "busy: wait until the run is over"
    return frame


def longer(frame, state):
    """Adds an undeclared member to update events of tools."""
    return {**frame, "elapsed": 3} if is_event(frame, "tool_execution_update") else frame


def line(write):
    return lambda text: write(json.loads(text)) if text.startswith("{") else text


ALL = []
for dialect, cases in CASES.items():
    book = DefectCollection(dialect)
    book.neutral("nothing", "nothing is changed", cases)
    book.neutral("member-order", "members stand in another order", cases, said=lambda it, state: reverse(it))
    book.neutral("white-space", "white space stands between members", cases, line=line(lambda it: json.dumps(it, separators=(" ,  ", " :\t"))))
    book.neutral("escapes", "characters are escaped", cases, line=line(lambda it: json.dumps(it).replace("/", "\\/")))
    book.neutral("more-members", "records have a member that nobody declared", cases, said=more)
    book.neutral("unknown-events", "an event comes that nobody declared", cases, said=unknown_event)
    if dialect != "operator":
        book.neutral("other-times", "the agent's clock is an hour ahead", cases, said=other_times)
    book.neutral("pieces-split", "pieces of text come in two", cases, said=split)
    if dialect in ("pi", "omp", "pisces"):
        # A client that waits for a middle piece would wait for the joined one, so such cases are
        # excluded.
        whole = " ".join(case for case in cases.split() if "abort" not in case)
        book.neutral("pieces-joined", "pieces of text come together", whole, said=join)
        book.neutral("bare-updates", "updates come without the message so far", cases, said=bare)
        book.neutral("longer-updates", "updates of tools have a member more", cases, said=longer)
    if dialect in ("pi", "omp"):
        busy = {"pi": "plain-second-prompt", "omp": "prompt_while_busy"}[dialect]
        book.neutral("words", "words of a refusal are others", busy, said=reworded)
    ALL += book.all
