"""ACP: JSON-RPC 2.0 with several sessions. The defects are those of an agent that an editor would notice."""

import copy
import json

from changes import DefectCollection, at, change_command, decoded, without_members

BOOK = DefectCollection("acp")
acp = BOOK.defect
same = BOOK.neutral

TEXT = "prompt-text"
TOOL = "tool-call"
CANCEL = "cancel-in-text"
PERMISSION = "permission-allow-once"
SESSIONS = "sessions-side-by-side"
LOAD = "load-other-process"


def every(change):
    """Changes every frame: `change(frame)` returns the replacement."""
    return lambda frame, state: change(frame)


def answered(frame):
    return "id" in frame and "method" not in frame


def with_result(frame, name):
    return answered(frame) and isinstance(frame.get("result"), dict) and name in frame["result"]


def update_of(frame):
    return frame["params"]["update"] if frame.get("method") == "session/update" else {}


def is_update(*kinds):
    return lambda frame: update_of(frame).get("sessionUpdate") in kinds


def shows_diff(frame):
    content = update_of(frame).get("content")
    return isinstance(content, list) and bool(content) and content[0].get("type") == "diff"


def asks(frame):
    return frame.get("method") == "session/request_permission"


def put(of, path, value):
    """Replaces a value in each frame for which `of` returns true. A function gets the old value."""

    def said(frame, state):
        if of(frame):
            holder, name = at(frame, path)
            if holder is not None:
                holder[name] = value(holder[name]) if callable(value) else value
        return frame

    return said


def drop(of):
    return lambda frame, state: None if of(frame) else frame


def twice(of):
    return lambda frame, state: [frame, copy.deepcopy(frame)] if of(frame) else frame


def lost(of, path):
    """Removes a member from each frame for which `of` returns true."""

    def said(frame, state):
        holder, name = at(frame, path) if of(frame) else (None, None)
        if holder is not None:
            del holder[name]
        return frame

    return said


def first(of, change):
    """Changes only the first frame for which `of` returns true."""

    def said(frame, state):
        if of(frame) and not state.get("changed"):
            state["changed"] = True
            return change(frame, state)
        return frame

    return said


def behind_the_answer(of):
    """Sends frames of a kind only after the answer to the prompt."""

    def said(frame, state):
        kept = state.setdefault("kept", [])
        if of(frame):
            kept.append(frame)
            return None
        if with_result(frame, "stopReason") and kept:
            state["kept"] = []
            return [frame, *kept]
        return frame

    return said


def withheld(method):
    """Withholds a notification or request of the client from the agent."""
    return lambda line, state: (None, []) if (decoded(line) or {}).get("method") == method else (line, [])


def answered_by_proxy(method, reply):
    """Withholds a request from the agent; the proxy answers it."""

    def heard(line, state):
        frame = decoded(line)
        if frame is None or frame.get("method") != method:
            return line, []
        return None, [{"jsonrpc": "2.0", "id": frame.get("id"), **reply(frame)}]

    return heard


def answer_notifications(line, state):
    """Answers notifications, too."""
    frame = decoded(line)
    if frame is not None and "method" in frame and "id" not in frame:
        return line, [{"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "Method not found"}}]
    return line, []


def outcome(replace):
    """Changes the client's answers to permissions."""

    def heard(line, state):
        frame = decoded(line)
        if frame is None or "outcome" not in (frame.get("result") or {}):
            return line, []
        return json.dumps({**without_members(frame, "error"), "result": {"outcome": replace}}), []

    return heard


def allows_errors(line, state):
    """Treats an error of the client as a permission."""
    frame = decoded(line)
    if frame is None or "error" not in frame or "method" in frame:
        return line, []
    allowed = {"outcome": {"outcome": "selected", "optionId": state.get("allow")}}
    return json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": allowed}), []


def remembers_choice(frame, state):
    if asks(frame):
        state["allow"] = next(it["optionId"] for it in frame["params"]["options"] if it["kind"] == "allow_once")
    return frame


def always(kind):
    """Treats each outcome as the choice of a kind."""

    def heard(line, state):
        frame = decoded(line)
        if frame is None or "outcome" not in (frame.get("result") or {}):
            return line, []
        return outcome({"outcome": "selected", "optionId": state.get(kind)})(line, state)

    return heard


# Frames of JSON-RPC
acp("version-missing", "frames have no `jsonrpc`", "initialize", "jsonrpc", every(lambda it: without_members(it, "jsonrpc")))
acp("version-as-number", "`jsonrpc` is a number", "initialize", "jsonrpc", every(lambda it: {**it, "jsonrpc": 2.0}))
acp("id-as-text", "numeric ids come back as texts", "id-number", "id", every(lambda it: {**it, "id": str(it["id"])} if answered(it) else it))
acp("id-as-number", "ids that are digits come back as numbers", "id-text", "id", every(lambda it: {**it, "id": int(it["id"])} if answered(it) and str(it["id"]).isdigit() else it))
acp("id-missing", "answers have no id", "session-new", "id", every(lambda it: without_members(it, "id") if answered(it) else it))
acp("answer-twice", "the answer to a prompt is sent twice", TEXT, "id|answer", twice(lambda it: with_result(it, "stopReason")))
acp("answer-missing", "a cancelled prompt is not answered", CANCEL, "answer|session/prompt", drop(lambda it: with_result(it, "stopReason") and it["result"]["stopReason"] == "cancelled"))
acp("result-beside-error", "an error has a result, too", "unknown-method", "result", every(lambda it: {**it, "result": None} if "error" in it else it))
acp("code-as-text", "error codes are texts", "unknown-method", "code|error", put(lambda it: "error" in it, "error.code", str))
acp("code-wrong", "an unknown method is an internal error", "unknown-method", "code", put(lambda it: "error" in it, "error.code", -32603))
acp("code-of-parameters", "missing parameters are an internal error", "session-new-without-cwd", "code", put(lambda it: "error" in it, "error.code", -32603))
acp("notification-answered", "unknown notifications are answered", "unknown-notification", "id|answer", heard=answer_notifications)
acp("extension-silent", "extension methods are not answered", "extension-request", "_agentese.example/ask", heard=withheld("_agentese.example/ask"))
acp("noise", "a line of a log is on stdout", TEXT, "JSON", first(is_update("agent_message_chunk"), lambda frame, state: ["starting the turn", frame]))

# The start of a connection and of sessions
acp("version-echoed", "a version that does not exist is confirmed", "initialize-higher-version", "protocolVersion", put(lambda it: with_result(it, "protocolVersion"), "result.protocolVersion", 99))
acp("version-text", "the version is a text", "initialize", "protocolVersion", put(lambda it: with_result(it, "protocolVersion"), "result.protocolVersion", "1"))
acp("capability-text", "a capability is a text", "initialize", "loadSession", put(lambda it: with_result(it, "agentCapabilities"), "result.agentCapabilities.loadSession", "yes"))
acp("session-id-missing", "a new session has no id", "session-new", "sessionId", lost(lambda it: with_result(it, "sessionId"), "result.sessionId"))
acp("session-id-shared", "all sessions have one id", "session-new-twice", "sessionId", put(lambda it: with_result(it, "sessionId"), "result.sessionId", "session"))
acp("relative-directory", "a relative directory is accepted", "session-new-relative-cwd", "error|result|code", every(lambda it: {**without_members(it, "error"), "result": {"sessionId": "s"}} if it.get("id") == "bad" else it))
acp("directory-ignored", "sessions work in another directory", "session-cwd", "pwd|directory|requests", heard=change_command("session/new", lambda it: it["params"].update(cwd=it["params"]["cwd"].removesuffix("/sub"))))
acp("servers-ignored", "MCP servers of the client are not started", "session-new-server", "tools|requests", heard=change_command("session/new", lambda it: it["params"].update(mcpServers=[])))
acp("client-file-ignored", "the text of the client's file is not used", "files-read", "messages|requests", heard=lambda line, state: (line.replace("unsaved", "saved"), []))
acp("login-accepted", "any login succeeds", "authenticate-unknown-method", "error|result", every(lambda it: {**without_members(it, "error"), "result": {}} if it.get("id") == "auth" else it))
acp("unknown-session-accepted", "a prompt to an unknown session ends at once", "prompt-unknown-session", "error|result", every(lambda it: {**without_members(it, "error"), "result": {"stopReason": "end_turn"}} if it.get("id") == "p" else it))

# Turns
acp("stop-reason-unknown", "the stop reason is `done`", TEXT, "stopReason|stop", put(lambda it: with_result(it, "stopReason"), "result.stopReason", "done"))
acp("cancel-as-end", "a cancelled turn ends with `end_turn`", CANCEL, "stopReason", put(lambda it: with_result(it, "stopReason"), "result.stopReason", "end_turn"))
acp("cancel-as-error", "a cancelled turn ends with an error", "cancel-before-first-update", "result|error", every(lambda it: {**without_members(it, "result"), "error": {"code": -32603, "message": "aborted"}} if with_result(it, "stopReason") and it["result"]["stopReason"] == "cancelled" else it))
acp("cancel-ignored", "a cancel does not reach the turn", "cancel-twice", "session/cancel|answer|frame|stopReason", heard=withheld("session/cancel"))
acp("max-tokens-hidden", "an answer at its limit ends with `end_turn`", "prompt-max-tokens", "stopReason", put(lambda it: with_result(it, "stopReason"), "result.stopReason", "end_turn"))
acp("text-behind-answer", "the last text follows the answer", TEXT, "session/prompt|agent_message_chunk|update", behind_the_answer(is_update("agent_message_chunk")))
acp("text-behind-cancel", "text follows the answer to a cancelled prompt", CANCEL, "session/prompt|update|agent_message_chunk", lambda frame, state: [frame, state["last"]] if with_result(frame, "stopReason") and "last" in state else (state.update(last=copy.deepcopy(frame)) or frame if is_update("agent_message_chunk")(frame) else frame))
acp("text-twice", "each piece of text is sent twice", TEXT, "text", twice(is_update("agent_message_chunk")))
acp("wrong-session", "updates name another session", SESSIONS, "sessionId|session", lambda frame, state: put(is_update("agent_message_chunk"), "params.sessionId", state.get("one", "none"))(frame, state) if not with_result(frame, "sessionId") else (state.setdefault("one", frame["result"]["sessionId"]) and frame))
acp("session-missing", "updates do not name their session", TEXT, "sessionId|frame", lost(is_update("agent_message_chunk"), "params.sessionId"))
acp("update-unknown", "an update is of an unknown kind", TEXT, "sessionUpdate|agent_message", put(is_update("agent_message_chunk"), "params.update.sessionUpdate", "agent_message"))
acp("content-missing", "a piece of text has no content", TEXT, "content", lost(is_update("agent_message_chunk"), "params.update.content"))

# Tools and permissions
acp("call-unannounced", "calls are not announced", TOOL, "tool_call|precedes", drop(is_update("tool_call")))
acp("call-ids-shared", "all calls have one id", "tool-calls-two", "toolCallId", put(is_update("tool_call", "tool_call_update"), "params.update.toolCallId", "call"))
acp("call-goes-back", "a completed call is running again", TOOL, "status", lambda frame, state: [frame, put(lambda it: True, "params.update.status", "in_progress")(copy.deepcopy(frame), state)] if update_of(frame).get("status") == "completed" else frame)
acp("call-never-runs", "no call is reported as running", "tool-call-in-progress", "in_progress", lambda frame, state: lost(lambda it: update_of(it).get("status") == "in_progress", "params.update.status")(frame, state))
acp("call-status-unknown", "a status is `running`", TOOL, "status", put(is_update("tool_call", "tool_call_update"), "params.update.status", "running"))
acp("call-never-ends", "the end of a call is not reported", TOOL, "tool_call_update|status|completed", drop(lambda it: update_of(it).get("status") in ("completed", "failed")))
acp("call-kind-unknown", "a kind is `shell`", TOOL, "kind", put(is_update("tool_call"), "params.update.kind", "shell"))
acp("diff-relative", "the path of a diff is relative", "tool-edit", "path", put(shows_diff, "params.update.content.0.path", "made.txt"))
acp("permission-kind-unknown", "a choice is of the kind `yes`", PERMISSION, "kind|option", put(asks, "params.options.1.kind", "yes"))
acp("permission-without-call", "a permission does not show its call", "permission-shows-call", "toolCall|made.txt", put(asks, "params.toolCall", lambda it: {"toolCallId": it["toolCallId"]}))
acp("permission-session-missing", "a permission does not name its session", "permission-shows-call", "sessionId|frame", lost(asks, "params.sessionId"))
acp("rejection-ignored", "a rejected tool runs", "permission-reject-once", "runs|run|frame", remembers_choice, heard=always("allow"))
acp("dismissal-ignored", "a dismissed permission runs the tool", "permission-cancelled", "runs|run|frame", remembers_choice, heard=always("allow"))
acp("unknown-choice-accepted", "a choice that was not offered runs the tool", "permission-unknown-option", "runs|run|frame", remembers_choice, heard=always("allow"))
acp("error-permits", "an error of the client runs the tool", "permission-error", "runs|run|frame", remembers_choice, heard=allows_errors)
acp("files-not-offered", "files are requested though the client offers none", "files-not-offered", "fs", first(is_update("tool_call"), lambda frame, state: [{"jsonrpc": "2.0", "id": "f", "method": "fs/read_text_file", "params": {"sessionId": frame["params"]["sessionId"], "path": "/note.txt"}}, frame]))
acp("terminal-leaks", "terminals are not released", "terminal", "release", drop(lambda it: it.get("method") == "terminal/release"))
acp("file-relative", "the path of a file is relative", "files-read", "path", put(lambda it: it.get("method") == "fs/read_text_file", "params.path", "note.txt"))

# Stored sessions and options
acp("load-without-history", "a loaded session is not replayed", LOAD, "user_message_chunk|load", drop(lambda it: is_update("user_message_chunk")(it)))
acp("history-behind-answer", "the history follows the answer", LOAD, "load|answer", lambda frame, state: (state.setdefault("kept", []).append(frame) if is_update("user_message_chunk", "agent_message_chunk")(frame) and state.get("loading") else [frame, *state.pop("kept", [])] if frame.get("id") == "load" else frame), heard=lambda line, state: (state.update(loading="session/load" in line or state.get("loading")), (line, []))[1])
acp("resume-with-history", "a resumed session is replayed", "resume-other-process", "history|session/prompt|update", lambda frame, state: [{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hello."}}}}, frame] if frame.get("id") == "resume" else frame)
acp("unknown-load-accepted", "an unknown session is loaded", "load-unknown", "error|result", every(lambda it: {**without_members(it, "error"), "result": {}} if it.get("id") == "load" else it))
acp("list-relative", "directories of listed sessions are relative", "list", "cwd|sessions", put(lambda it: with_result(it, "sessions"), "result.sessions.0.cwd", "work"))
acp("list-unfiltered", "sessions of other directories are listed", "list-cwd", "sessions", put(lambda it: with_result(it, "sessions"), "result.sessions", [{"sessionId": "s", "cwd": "/elsewhere"}]))
acp("closed-session-lives", "a closed session takes prompts", "close", "`id`|result|stopReason", heard=answered_by_proxy("session/close", lambda frame: {"result": {}}))
acp("closed-session-speaks", "a closed session sends an update", "close", "session/update|id", lambda frame, state: [frame, {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": state["id"], "update": {"sessionUpdate": "session_info_update", "title": "Closed"}}}] if frame.get("id") == "close" else (with_result(frame, "sessionId") and state.update(id=frame["result"]["sessionId"]), frame)[1])
acp("deleted-session-listed", "a deleted session is still listed", "delete", "sessions", heard=answered_by_proxy("session/delete", lambda frame: {"result": {}}))
acp("option-not-returned", "the answer does not have the options", "option-set", "configOptions|frame", put(lambda it: it.get("id") == "set", "result", {}))
acp("option-unchanged", "the answer has the former value", "option-set", "currentValue|configOptions", put(lambda it: it.get("id") == "set", "result.configOptions.0.currentValue", "former"))
acp("option-any-value", "any value of an option is accepted", "option-unknown-value", "error|result", every(lambda it: {**without_members(it, "error"), "result": {"configOptions": []}} if it.get("id") == "set" else it))

# Differences that no client may notice
same("ids-of-requests", "requests of the agent have other ids", "permission-allow-once files-read", every(lambda it: {**it, "id": {"f": 1}.get(it["id"], it["id"])} if asks(it) else it))
same("meta", "frames have `_meta`", "prompt-text tool-call", lambda frame, state: put(lambda it: it.get("method") == "session/update", "params", lambda it: {**it, "_meta": {"example.org": 1}})(frame, state))
same("extension-notification", "the agent sends a notification of its own", "prompt-text cancel-in-text", first(is_update("agent_message_chunk"), lambda frame, state: [{"jsonrpc": "2.0", "method": "_example.org/tell", "params": {}}, frame]))
same("usage", "the context of the model is reported after the turn", "prompt-text cancel-in-text", lambda frame, state: [frame, {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "usage_update", "used": 1, "size": 10}}}] if with_result(frame, "stopReason") else frame)
same("order-of-members", "members are in another order", "prompt-text tool-call load-other-process", every(lambda it: dict(sorted(it.items(), reverse=True))))
same("white-space", "frames have white space", "prompt-text permission-reject-once", line=lambda line: line.replace('":', '": '))
same("message-ids", "pieces of text have the id of their message", "prompt-text load-other-process", lambda frame, state: put(is_update("agent_message_chunk"), "params.update", lambda it: {**it, "messageId": "m"})(frame, state))
