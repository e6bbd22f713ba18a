"""Extensions for agentese in Python, in one file: copy it beside your extension.

    from agentese_extension import Extension

    extension = Extension()

    @extension.command("hello", "Says hello")
    def hello(args, context):
        name = context.input("Your name")
        context.notify(f"Hello, {name or 'whoever you are'}!")

    extension.run()

Each handler runs on its own thread, so that one may wait for the user while others work. See
docs/reference/extensions.md for the protocol. This file needs only Python 3.9 or later.
"""

import json
import os
import sys
import threading

PROTOCOL = 1


class Cancelled(Exception):
    """Raised in a handler that the agent no longer waits for, after an abort of the run or after the time
    limit.
    """


class Withdrawal:
    """Handle that withdraws its dialogs, including later ones, when withdraw() is called."""

    def __init__(self):
        self._lock = threading.Lock()
        self._asked = []
        self.is_withdrawn = False

    def withdraw(self):
        """Withdraws the dialogs. Their calls return as if the user had dismissed them."""
        with self._lock:
            self.is_withdrawn, asked, self._asked = True, self._asked, []
        for take_back in asked:
            take_back()

    def _add(self, take_back):
        with self._lock:
            if not self.is_withdrawn:
                self._asked.append(take_back)
                return
        take_back()


class Context:
    """Methods that a handler uses to communicate with the agent. Open dialogs of the handler end together
    with it.
    """

    def __init__(self, extension, during=None):
        self._extension = extension
        self._during = during
        self.cancelled = threading.Event()

    @property
    def cwd(self):
        """Working directory of the agent."""
        return self._extension.hello.get("cwd", os.getcwd())

    @property
    def has_ui(self):
        """True if a user can answer dialogs."""
        return self._extension.hello.get("hasUI", False)

    # Dialogs. Each returns the user's answer, or None (False for confirm) if the user dismisses it, the
    # timeout (milliseconds) passes, or it is withdrawn. A dialog that is already withdrawn does not appear.

    def select(self, title, options, timeout=None, withdrawal=None):
        """Prompts the user to choose an option."""
        return self._ask("select", withdrawal, title=title, options=list(options), timeout=timeout).get("value")

    def confirm(self, title, message, timeout=None, withdrawal=None):
        """Prompts the user for yes or no."""
        said = self._ask("confirm", withdrawal, title=title, message=message, timeout=timeout)
        return said.get("confirmed", False)

    def input(self, title, placeholder=None, timeout=None, withdrawal=None):
        """Prompts the user for a line of text."""
        return self._ask("input", withdrawal, title=title, placeholder=placeholder, timeout=timeout).get("value")

    def editor(self, title, prefill=None, withdrawal=None):
        """Opens an editor."""
        return self._ask("editor", withdrawal, title=title, prefill=prefill).get("value")

    # Notices.

    def notify(self, message, kind=None):
        """Shows a notice; kind is info, warning or error."""
        self._send("notify", message=message, notifyType=kind)

    def set_status(self, key, text=None):
        """Sets an entry of the status bar, or clears it."""
        self._send("set_status", key=key, text=text)

    def set_widget(self, key, lines=None, placement=None):
        """Sets a block of lines beside the editor, or clears it; placement is aboveEditor or belowEditor."""
        self._send("set_widget", key=key, lines=lines, placement=placement)

    def set_title(self, title):
        """Sets the title of the window."""
        self._send("set_title", title=title)

    def set_editor_text(self, text):
        """Puts text into the input editor."""
        self._send("set_editor_text", text=text)

    # Actions.

    def send_message(self, custom_type, content, display=True, details=None, trigger_turn=None, deliver_as=None):
        """Adds a message with a custom type to the conversation."""
        message = {"customType": custom_type, "content": content, "display": display}
        if details is not None:
            message["details"] = details
        self._act("send_message", message=message, triggerTurn=trigger_turn, deliverAs=deliver_as)

    def send_user_message(self, content, deliver_as=None):
        """Sends a message as user input. The client receives the events of the run."""
        self._send("send_user_message", content=content, deliverAs=deliver_as)

    def append_entry(self, custom_type, data=None):
        """Stores an entry in the session that is invisible to the model."""
        self._act("append_entry", customType=custom_type, data=data)

    def set_session_name(self, name):
        """Sets the name of the session."""
        self._call("set_session_name", name=name)

    def set_label(self, entry_id, label=None):
        """Labels an entry of the session, or removes its label."""
        self._call("set_label", entryId=entry_id, label=label)

    def set_active_tools(self, names):
        """Sets the tools that the model can call."""
        self._call("set_active_tools", tools=list(names))

    def set_model(self, provider, model_id):
        """Selects another model; returns False if the model does not exist."""
        return self._call("set_model", provider=provider, modelId=model_id).get("found", False)

    def set_thinking_level(self, level):
        """Sets the thinking level of the model."""
        self._call("set_thinking_level", level=level)

    def abort(self):
        """Aborts the work of the agent."""
        self._call("abort")

    def shutdown(self):
        """Ends the agent as soon as it is idle."""
        self._call("shutdown")

    def compact(self, instructions=None):
        """Compacts the conversation and returns the result."""
        return self._call("compact", customInstructions=instructions)

    def state(self):
        """Returns the state of the agent; see HostState in the documentation."""
        return self._call("get_state")

    def entries(self):
        """Returns the entries of the session; see SessionEntries in the documentation."""
        return self._call("get_entries")

    # The following methods are only for handlers of commands.

    def wait_for_idle(self):
        """Waits until the agent is idle."""
        self._call("wait_for_idle")

    def new_session(self, parent=None):
        """Starts a new session; returns False if an extension prevented it."""
        return not self._call("new_session", parentSession=parent).get("cancelled")

    def fork(self, entry_id):
        """Forks the session; returns False if an extension prevented it."""
        return not self._call("fork", entryId=entry_id).get("cancelled")

    def switch_session(self, path):
        """Switches to another session; returns False if an extension prevented it."""
        return not self._call("switch_session", path=path).get("cancelled")

    # The following methods encode and send frames.

    def _send(self, kind, **members):
        self._extension._send({"type": kind, "extension": self._extension.path, **_given(members)})

    def _act(self, kind, **members):
        self._extension._question({"type": kind, "extension": self._extension.path, **_given(members)})

    def _call(self, kind, **members):
        return self._extension._question({"type": kind, **_given(members)})

    def _ask(self, kind, withdrawal, **members):
        if withdrawal is not None and withdrawal.is_withdrawn:
            return {}
        owner = {"extension": self._extension.path}
        # After the end of its handler, a context sends requests that belong to no handler.
        if self._during in self._extension._running:
            owner["during"] = self._during
        return self._extension._question({"type": kind, **owner, **_given(members)}, withdrawal)


def _given(members):
    return {name: value for name, value in members.items() if value is not None}


class Extension:
    """Extension with its commands, tools and handlers. Register them, then call run()."""

    def __init__(self, name=None):
        self.name = name
        self.path = None
        self.hello = {}
        self._commands = {}
        self._tools = {}
        self._handlers = {}
        self._flags = []
        self._out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", newline="\n")
        # Accidental output of the program must not appear between frames.
        sys.stdout = sys.stderr
        self._lock = threading.Lock()
        self._answers = {}
        self._last = 0
        self._running = {}
        self._broken = None
        sys.excepthook = self._fails_to_load

    def command(self, name, description=None):
        """Decorates the handler of a slash command: handler(args, context)."""

        def add(handler):
            self._commands[name] = (description, handler)
            return handler

        return add

    def tool(self, name, description, parameters, label=None, snippet=None, guidelines=None):
        """Decorates a tool: handler(params, context, update). The handler returns a text, or a result in the
        documented form; update(text, details) shows progress."""

        def add(handler):
            offer = {"name": name, "label": label, "description": description, "parameters": parameters}
            offer.update(promptSnippet=snippet, promptGuidelines=guidelines)
            self._tools[name] = (_given(offer), handler)
            return handler

        return add

    def flag(self, name, kind, description=None, default=None):
        """Adds a command-line flag; kind is boolean or string. state() returns its value."""
        if kind not in ("boolean", "string"):
            raise ValueError(f"the kind of a flag is boolean or string, not {kind!r}")
        self._flags.append(_given({"name": name, "kind": kind, "description": description, "default": default}))

    def on(self, event):
        """Decorates the handler of an event: handler(event, context). The return value is the answer. Several
        handlers run in order, and the last answer wins. After an answer that blocks, cancels or handles the
        event, no further handler runs."""

        def add(handler):
            self._handlers.setdefault(event, []).append(handler)
            return handler

        return add

    def run(self):
        """Serves the agent until it closes the connection."""
        for line in sys.stdin:
            if line.strip():
                self._frame(json.loads(line))
        for context in list(self._running.values()):
            context.cancelled.set()
        with self._lock:
            waiting, self._answers = self._answers, {}
        for answer in waiting.values():
            answer.set_exception()

    def _fails_to_load(self, kind, problem, traceback):
        sys.__excepthook__(kind, problem, traceback)
        # The agent receives the error in place of the registrations.
        if not self.hello and issubclass(kind, Exception):
            self._broken = str(problem) or kind.__name__
            self.run()

    def _frame(self, frame):
        kind = frame.get("type")
        if kind == "initialize":
            self.hello = frame
            self.path = frame["extensions"][0]
            self._answer(frame["id"], self._offer())
        elif kind == "response":
            with self._lock:
                answer = self._answers.pop(frame["id"], None)
            if answer is not None:
                answer.set(frame)
        elif kind == "cancel":
            context = self._running.get(frame["id"])
            if context is not None:
                context.cancelled.set()
        elif kind in ("event", "command", "tool"):
            context = Context(self, frame.get("id"))
            if "id" in frame:
                self._running[frame["id"]] = context
            threading.Thread(target=self._handle, args=(frame, context), daemon=True).start()

    def _offer(self):
        offer = {"path": self.path, "name": self.name, "events": list(self._handlers)}
        offer["commands"] = [
            _given({"name": name, "description": description}) for name, (description, _) in self._commands.items()
        ]
        offer["tools"] = [offer for offer, _ in self._tools.values()]
        offer["flags"] = self._flags
        if self._broken is not None:
            offer = {"path": self.path, "error": self._broken}
        return {"protocol": PROTOCOL, "extensions": [_given(offer)]}

    def _handle(self, frame, context):
        name = frame["event"]["type"] if frame["type"] == "event" else frame["name"]
        try:
            result = getattr(self, "_handle_" + frame["type"])(frame, context)
            error = None
        except Cancelled:
            result, error = None, None
        except BaseException as problem:
            result, error = None, str(problem) or type(problem).__name__
        if "id" in frame:
            self._running.pop(frame["id"], None)
            self._answer(frame["id"], result, error)
        elif error is not None:
            self._send({"type": "failed", "extension": self.path, "event": name, "error": error})

    def _handle_event(self, frame, context):
        result = None
        for handler in self._handlers.get(frame["event"]["type"], []):
            said = handler(frame["event"], context)
            result = said if said is not None else result
            if isinstance(said, dict) and (said.get("block") or said.get("cancel") or said.get("action") == "handled"):
                break
        return result

    def _handle_command(self, frame, context):
        self._commands[frame["name"]][1](frame["args"], context)

    def _handle_tool(self, frame, context):
        def update(text, details=None):
            shown = {"type": "tool_update", "id": frame["id"], "content": [{"type": "text", "text": text}]}
            self._send({**shown, **_given({"details": details})})

        result = self._tools[frame["name"]][1](frame["params"], context, update)
        if isinstance(result, dict):
            return result
        return {"content": [{"type": "text", "text": "" if result is None else str(result)}]}

    def _answer(self, id, result=None, error=None):
        self._send({"type": "response", "id": id, **_given({"result": result, "error": error})})

    def _question(self, frame, withdrawal=None):
        answer = _Answer()
        with self._lock:
            self._last += 1
            frame["id"] = f"q{self._last}"
            self._answers[frame["id"]] = answer
        self._send(frame)
        if withdrawal is not None:
            withdrawal._add(lambda: self._send({"type": "withdraw", "question": frame["id"]}))
        said = answer.get()
        if said.get("error") is not None:
            raise RuntimeError(said["error"])
        return said.get("result") or {}

    def _send(self, frame):
        line = json.dumps(frame, ensure_ascii=False) + "\n"
        with self._lock:
            try:
                self._out.write(line)
                self._out.flush()
            except (BrokenPipeError, ValueError):
                pass


class _Answer:
    def __init__(self):
        self._ready = threading.Event()
        self._frame = None

    def set(self, frame):
        self._frame = frame
        self._ready.set()

    def set_exception(self):
        self._ready.set()

    def get(self):
        self._ready.wait()
        if self._frame is None:
            raise Cancelled("the agent has ended")
        return self._frame
