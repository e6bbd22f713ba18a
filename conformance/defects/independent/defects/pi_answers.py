"""Defects of pi in answers to commands and in line ends."""

import copy
import json

from changes import DefectCollection, Pause, answers, drop, edit, is_answer, is_event, late, without_members, put

BOOK = DefectCollection("pi")
pi = BOOK.defect


def last_id(frame, state):
    """Replaces the id of an answer with the id of the previous answer."""
    if frame.get("type") != "response":
        return frame
    before, state["id"] = state.get("id"), frame.get("id")
    return {**frame, "id": before} if before else frame


def beside(frame):
    return {**without_members(frame, "data"), **frame["data"]} if frame.get("command") == "get_state" and "data" in frame else frame


def failed(frame):
    return frame.get("type") == "response" and frame.get("success") is False


def unknown(frame):
    return "Unknown command" in str(frame.get("error"))


def keep_start(frame, state):
    """Joins `agent_start` and `turn_start` into one line."""
    if is_event(frame, "agent_start"):
        state["start"] = frame
        return None
    if is_event(frame, "turn_start") and "start" in state:
        return json.dumps(state.pop("start")) + json.dumps(frame)
    return frame


def object_line(write):
    return lambda line: write(json.loads(line)) if line.startswith("{") else line


STATE = "plain-state"
IDS = "plain-ids"
BUSY = "plain-second-prompt"

pi("id-in-capitals", "ids of answers are in capitals", STATE, "id", answers(lambda it: {**it, "id": str(it["id"]).upper()} if "id" in it else it))
pi("id-left-out", "answers have no id", STATE, "id|answer", answers(lambda it: without_members(it, "id")))
pi("id-as-text", "numeric ids come back as texts", IDS, "id", answers(lambda it: {**it, "id": str(it["id"])} if "id" in it else it))
pi("id-null", "an answer to a command without an id has `id: null`", IDS, "id", answers(lambda it: {"id": None, **it}))
pi("id-made-up", "an answer to a command without an id has one", IDS, "id", answers(lambda it: {"id": "auto-1", **it}))
pi("id-of-the-last", "an answer has the id of the answer before", f"{STATE} {IDS}", "id|answer", last_id)
pi("success-as-text", "`success` is a text", STATE, "success", answers(lambda it: {**it, "success": str(it["success"]).lower()}))
pi("success-as-number", "`success` is 1 or 0", STATE, "success", answers(lambda it: {**it, "success": int(it["success"])}))
pi("success-missing", "answers do not say whether they are a success", STATE, "success", answers(lambda it: without_members(it, "success")))
pi("command-missing", "answers do not name their command", STATE, "command", answers(lambda it: without_members(it, "command")))
pi("command-in-camel-case", "answers name `getState`", STATE, "command|getState", put("command get_state", "command", "getState"))
pi("type-result", "answers are of the type `result`", STATE, "result|type", answers(lambda it: {**it, "type": "result"}))
pi("data-beside", "the data stands beside the members of the answer", STATE, "data", answers(beside))
pi("refusal-without-words", "a failure has an empty text", BUSY, "error", answers(lambda it: {**it, "error": ""} if failed(it) else it))
pi("refusal-without-error", "a failure has no text", BUSY, "error", answers(lambda it: without_members(it, "error")))
pi("refusal-as-object", "a failure's text is an object", BUSY, "error", answers(lambda it: {**it, "error": {"message": it["error"]}} if failed(it) else it))
pi("refusal-of-a-success", "a failure is a success with a text", BUSY, "success", answers(lambda it: {**it, "success": True}))
pi("answers-twice", "every answer comes twice", STATE, "answer|answered", answers(lambda it: [it, copy.deepcopy(it)]))
pi("prompt-unanswered", "a prompt is never answered", STATE, "prompt|answer", drop("command prompt"))
pi("prompt-answered-late", "a prompt is answered when its run is over", "prompt-text-anthropic", "prompt|order", late("command prompt", "agent_end"))
pi("unknown-succeeds", "an unknown command succeeds", "proto-unknown-command", "success", answers(lambda it: {**without_members(it, "error"), "success": True} if unknown(it) else it))
pi("unknown-unanswered", "an unknown command is not answered", "proto-unknown-command", "answer", answers(lambda it: None if unknown(it) else it))
pi("malformed-unanswered", "a line that is no JSON is not answered", "proto-malformed", "answer|parse", answers(lambda it: None if it.get("command") == "parse" else it))
pi("slow-answers", "every answer takes six seconds", IDS, "latency|took|seconds", answers(lambda it: [Pause(6), it]))

pi("carriage-returns", "lines end with CR LF", STATE, "CR", line=lambda line: line + "\r")
pi("log-on-stdout", "a line of a log is on stdout", STATE, "JSON", lambda it, state: [it, "[info] a turn begins"] if is_event(it, "turn_start") else it)
pi("pretty", "frames are laid out over several lines", STATE, "JSON|frame|speak|says", line=object_line(lambda it: json.dumps(it, indent=1)))
pi("two-in-a-line", "two frames stand in a line", STATE, "JSON|frame", keep_start)
pi("array", "each frame stands in an array", STATE, "frame|object|speak|says|JSON", line=lambda line: f"[{line}]")
pi("single-quotes", "frames are Python's, not JSON", STATE, "JSON|speak|says", line=object_line(repr))
pi("not-a-number", "a cost is `NaN`", "prompt-text-anthropic", "JSON", edit("message_end", lambda it: it["message"].get("usage", {}).get("cost", {}).update(total=float("nan"))))
pi("state-of-a-text", "the data of the state is JSON within a text", STATE, "data", answers(lambda it: {**it, "data": json.dumps(it["data"])} if is_answer(it, "get_state") else it))
