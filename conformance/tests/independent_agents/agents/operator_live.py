"""An agent that speaks the flat form of Operator's published sources, for tests of clients. It has no model.

The agent answers a prompt at once, and its run follows. These words in the prompt control the run: `tool` (a
tool runs), `ask` (a dialog opens, and the text contains its answer), `retry` (the first request fails
temporarily), `fail` (the run fails), `wait` (nothing happens until an abort), `given` (the text contains the
settings of the client). Each request event contains an invented key.
"""

import asyncio
import itertools
import json
import sys
import uuid

KEY = "made-up-provider-key-0123"
LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"]


def say(frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


class CommandError(Exception):
    """Reason for the failure of a command."""


class Agent:
    def __init__(self):
        self.messages, self.steering, self.queued = [], [], []
        self.session, self.name, self.level, self.compacts = "s1", None, None, None
        self.turn, self.aborted = None, asyncio.Event()
        self.questions, self.failures = {}, 0
        self.clock = itertools.count(1767225600)

    def message(self, role, *contents, **more):
        now = float(next(self.clock))
        return {"id": str(uuid.uuid4()), "timestamp": now, "role": role, "contents": list(contents), **more}

    def state(self):
        return {
            "phase": "idle" if self.turn is None else "turn", "is_streaming": self.turn is not None,
            "session_file": f"/sessions/{self.session}.jsonl", "session_id": self.session, "session_name": self.name,
            "context_tokens": 12, "context_window": 200000, "message_count": len(self.messages),
        }  # fmt: skip

    def answer(self, command):
        """Executes a command. Returns the data of its answer, or `None` for an answer without data."""
        name = command.get("type", "")
        method = getattr(self, f"do_{name}", None) if isinstance(name, str) else None
        if method is None:
            raise CommandError(f"Unknown command: {name!r}")
        return method(command)

    def needed(self, command, name, text="'{}' is required"):
        if not command.get(name) and command.get(name) is not False:
            raise CommandError(text.format(name))
        return command[name]

    def do_prompt(self, command):
        words = self.needed(command, "message")
        if self.turn is None:
            self.aborted.clear()
            self.turn = asyncio.ensure_future(self.run(words))

    def do_steer(self, command):
        self.steering.append(self.needed(command, "message", "'{}' required and session must be active"))
        say({"type": "queue_update", "steering": self.steering, "follow_up": self.queued})

    def do_follow_up(self, command):
        self.queued.append(self.needed(command, "message", "'{}' required and session must be active"))
        say({"type": "queue_update", "steering": self.steering, "follow_up": self.queued})

    def do_abort(self, _):
        self.aborted.set()

    def do_compact(self, _):
        pass

    def replaced(self, session):
        self.session, self.name, self.messages = session, None, []
        return {"cancelled": False}

    def do_new_session(self, _):
        return self.replaced(f"s{next(self.clock)}")

    def do_switch_session(self, command):
        return self.replaced(self.needed(command, "session_path").rsplit("/", 1)[-1].removesuffix(".jsonl"))

    def do_fork(self, command):
        entry = self.needed(command, "entry_id")
        return {"entry_id": entry, **self.replaced(f"s{next(self.clock)}")}

    def do_get_state(self, _):
        return self.state()

    def do_get_messages(self, _):
        return {"messages": self.messages}

    def do_get_last_assistant_text(self, _):
        texts = [part["content"] for message in self.messages for part in message["contents"] if part["type"] == "text"]
        return {"text": texts[-1] if texts else None}

    def do_get_session_stats(self, _):
        return {
            "session_id": self.session, "session_name": self.name, "entry_count": len(self.messages),
            "context_tokens": 12, "context_window": 200000,
        }  # fmt: skip

    def do_set_session_name(self, command):
        self.name = self.needed({**command, "name": command.get("name", "").strip()}, "name")

    def do_set_model(self, command):
        return {"model_id": self.needed(command, "model_id")}

    def do_set_thinking_level(self, command):
        level = self.needed(command, "level", "'{}' required and session must be active")
        if level not in LEVELS:
            raise CommandError(f"Unknown thinking level: {level}")
        self.level = level
        return {"level": level}

    def do_set_auto_compaction(self, command):
        self.compacts = bool(self.needed(command, "enabled", "'{}' required"))
        return {"enabled": self.compacts}

    async def ask(self, **question):
        """Opens a dialog. Returns the user's answer, or `None` if the user dismisses the dialog."""
        identity = str(uuid.uuid4())
        self.questions[identity] = asyncio.get_running_loop().create_future()
        say({"type": "extension_ui_request", "id": identity, **question})
        try:
            return await self.questions[identity]
        finally:
            del self.questions[identity]

    async def run(self, words):
        """Runs a prompt: the events around its turn, and a second attempt after a temporary failure."""
        say({"type": "input", "text": words, "source": "rpc"})
        say({"type": "before_agent_start", "prompt": words, "system_prompt": "Be brief."})
        if "retry" in words:
            await self.attempt(words, error="overloaded")
            say({"type": "retry_end", "attempt": 0, "success": False, "error": "overloaded"})
            say({"type": "retry_start", "attempt": 1, "max_retries": 3})
        reason = await self.attempt(words, error="no such model" if "fail" in words else None)
        if "retry" in words:
            say({"type": "retry_end", "attempt": 1, "success": True, "error": None})
        if reason != "error":
            say({"type": "save_point"})
            say({"type": "agent_end", "messages": [], "reason": "completed"})
        self.turn = None
        if reason != "error":
            say({"type": "settled"})

    def request(self):
        say({"type": "before_provider_request", "model": {"id": "gpt-x"}, "messages": [], "options": {"api_key": KEY, "plain": KEY}})

    async def attempt(self, words, error):
        say({"type": "context", "messages": []})
        say({"type": "agent_start"})
        say({"type": "turn_start", "turn_index": 0, "timestamp": 0.0})
        if error:
            message = self.message("assistant", stop_reason="error", error=error)
            say({"type": "message_start", "message": {**message, "error": None, "stop_reason": None}})
            self.request()
            say({"type": "message_end", "message": message})
            say({"type": "agent_error", "error": error})
            say({"type": "turn_end", "turn_index": 0, "message": None, "tool_results": []})
            say({"type": "agent_end", "messages": [], "reason": "error"})
            return "error"
        results = await self.tool() if "tool" in words else []
        text = "Hello there."
        if "ask" in words:
            said = await self.ask(method="select", title="Which one?", options=["left", "right"])
            text = f"You said {said}."
        if "given" in words:
            text = f"Name {self.name}, level {self.level}, compaction {self.compacts}."
        message = self.message("assistant")
        say({"type": "message_start", "message": message})
        self.request()
        if "wait" in words:
            await self.aborted.wait()
            text = "[Operation interrupted by user]"
        pieces = [text] if self.aborted.is_set() else [text[:5], text[5:]]
        for piece in pieces:
            say({"type": "message_update", "message": self.message("assistant", {"type": "text", "content": piece})})
            await asyncio.sleep(0)
        message["contents"] = [{"type": "text", "content": text}]
        say({"type": "after_provider_response", "model": {"id": "gpt-x"}, "response": message})
        say({"type": "message_end", "message": message})
        self.messages.append(message)
        say({"type": "turn_end", "turn_index": 0, "message": message, "tool_results": results})
        reason = "aborted" if self.aborted.is_set() else "completed"
        say({"type": "agent_end", "messages": [message], "reason": reason})
        return reason

    async def tool(self):
        call = {"type": "tool_call", "id": "call_1", "name": "terminal", "args": {"command": "echo out"}}
        message = self.message("assistant", call)
        say({"type": "message_start", "message": {**message, "contents": []}})
        self.request()
        say({"type": "message_update", "message": self.message("assistant", call)})
        say({"type": "message_end", "message": message})
        self.messages.append(message)
        say({"type": "tool_execution_start", "tool_call": call})
        result = {"type": "tool_result", "id": "call_1", "content": "out\n", "is_error": False}
        say({"type": "tool_execution_end", "tool_result": result})
        tools = self.message("tool", result)
        say({"type": "message_start", "message": tools})
        say({"type": "message_end", "message": tools})
        return [result]

    def take(self, line):
        """Executes the command in a line, and answers it."""
        if not line.strip("\r\n"):
            return None
        try:
            command = json.loads(line)
        except ValueError as error:
            return say({"type": "response", "command": "parse", "success": False, "error": str(error)})
        if not isinstance(command, dict):
            return None
        if command.get("type") == "extension_ui_response":
            asked = self.questions.get(command.get("id"))
            if asked is not None and not asked.done():
                asked.set_result(None if command.get("cancelled") else command.get("value"))
            return None
        head = {"type": "response", "command": command.get("type", "")}
        identity = {"id": command["id"]} if command.get("id") else {}
        try:
            data = self.answer(command)
        except CommandError as refused:
            return say({**head, "success": False, "error": str(refused), **identity})
        more = {} if data is None else {"data": data}
        return say({**head, "success": True, **identity, **more})


async def main():
    agent = Agent()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        agent.take(line.decode())


asyncio.run(main())
