"""Changes with which a defect alters the frames of an agent. They share no code with the suite.

Each change is a function of a frame and a dictionary that exists for the whole session. It returns the frame,
a list of items, or `None` for no output. An item is a frame, a line as text, or a `Pause`.
"""

import copy
import dataclasses
import json


@dataclasses.dataclass
class Pause:
    """Pause before the next item, in seconds."""

    seconds: float


@dataclasses.dataclass
class Defect:
    """A defect of an agent, or a neutral change if `words` is empty.

    The suite must find the defect in each of `cases`. The first line of the report must contain one of
    `words`: the name of the wrong member, event or command.
    """

    dialect: str
    name: str
    says: str
    cases: list[str]
    words: list[str]
    said: object = None
    heard: object = None
    line: object = None

    @property
    def key(self):
        return f"{self.dialect}/{self.name}"

    @property
    def is_neutral(self):
        return not self.words


class DefectCollection:
    """The defects and neutral changes of a dialect."""

    def __init__(self, dialect):
        self.dialect = dialect
        self.all = []

    def defect(self, name, says, cases, words, said=None, heard=None, line=None):
        self.all.append(Defect(self.dialect, name, says, cases.split(), words.split("|"), said, heard, line))

    def neutral(self, name, says, cases, said=None, heard=None, line=None):
        self.all.append(Defect(self.dialect, name, says, cases.split(), [], said, heard, line))


def body(frame):
    """Returns the event inside the frame's envelope, or the frame itself if it has no envelope."""
    if frame.get("type") == "event" and isinstance(frame.get("event"), dict):
        return frame["event"]
    if frame.get("method") == "agent/event":
        return frame["params"]
    return frame


def is_event(frame, kind):
    return body(frame).get("type") == kind


def is_answer(frame, command):
    return frame.get("type") == "response" and frame.get("command") == command and frame.get("success") is True


def of(kind):
    """Returns a predicate for frames of a kind. `kind` is the type of an event, or `command NAME` for a
    successful answer to that command.
    """
    if callable(kind):
        return kind
    if kind.startswith("command "):
        return lambda frame: is_answer(frame, kind.split(" ", 1)[1])
    return lambda frame: is_event(frame, kind)


def at(value, path):
    """Returns the object or list that contains the value at a path, and the value's key. Returns `(None, None)` if the
    path does not exist.
    """
    *names, last = path.split(".") if isinstance(path, str) else path
    for name in names:
        if isinstance(value, list) and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict):
            value = value.get(name)
        else:
            return None, None
    if isinstance(value, list):
        return (value, int(last)) if int(last) < len(value) else (None, None)
    return (value, last) if isinstance(value, dict) and last in value else (None, None)


def edit(kind, change):
    """Creates a change that applies `change` in place to all frames of a kind."""

    def said(frame, state):
        if of(kind)(frame):
            change(body(frame))
        return frame

    return said


def put(kind, path, value):
    """Replaces an existing value with `value`. If `value` is a function, it gets the old value and returns the new one.
    """

    def change(frame):
        holder, name = at(frame, path)
        if holder is not None:
            holder[name] = value(holder[name]) if callable(value) else value

    return edit(kind, change)


def without(kind, path):
    """Makes a change that removes a member."""

    def change(frame):
        holder, name = at(frame, path)
        if holder is not None:
            del holder[name]

    return edit(kind, change)


def renamed(kind, path, name):
    """Makes a change that renames a member."""

    def change(frame):
        holder, old = at(frame, path)
        if holder is not None:
            holder[name] = holder.pop(old)

    return edit(kind, change)


def drop(kind):
    return lambda frame, state: None if of(kind)(frame) else frame


def twice(kind):
    return lambda frame, state: [frame, copy.deepcopy(frame)] if of(kind)(frame) else frame


def late(kind, until):
    """Sends the first frame of a kind only after a frame of the kind `until`."""

    def said(frame, state):
        if of(kind)(frame) and "kept" not in state:
            state["kept"] = frame
            return None
        if of(until)(frame) and state.get("kept"):
            kept, state["kept"] = state["kept"], None
            return [frame, kept]
        return frame

    return said


def answers(change):
    """Changes every answer: `change(frame)` returns the replacement."""
    return lambda frame, state: change(frame) if frame.get("type") == "response" else frame


def without_members(frame, *names):
    return {name: value for name, value in frame.items() if name not in names}


def decoded(line):
    try:
        frame = json.loads(line)
    except ValueError:
        return None
    return frame if isinstance(frame, dict) else None


def withhold_command(command, answer=None):
    """Does not forward a command to the agent. The proxy answers it instead."""

    def heard(line, state):
        frame = decoded(line)
        if frame is None or frame.get("type") != command:
            return line, []
        reply = {"type": "response", "command": command, "success": True, **(answer or {})}
        return None, [{"id": frame["id"], **reply} if "id" in frame else reply]

    return heard


def change_command(command, change):
    """Changes the parameters of a command before it reaches the agent."""

    def heard(line, state):
        frame = decoded(line)
        if frame is None or command not in (frame.get("type"), frame.get("method")):
            return line, []
        change(frame)
        return json.dumps(frame), []

    return heard
