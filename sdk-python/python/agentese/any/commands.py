"""Neutral commands as methods, for threads."""

from collections.abc import Sequence

from agentese.any.results import ClearedQueue, Forked, Image, KeptSession, ShellResult, State, Stats
from agentese.any.words import pictures, record, records
from agentese.view.conversation import ForkPoint, Json, Message, Model, SlashCommand, Todo


class Commands:
    """Commands for an agent of any dialect. If the dialect has no command for it, a method raises
    `NotInDialectError` before anything is sent."""

    __slots__ = ()

    def call(self, intent: str, **params: Json) -> dict[str, Json]:
        """Executes an intent with neutral parameters and returns its neutral results; see
        docs/reference/intents.md."""
        raise NotImplementedError

    def steer(self, text: str, *, images: Sequence[Image] | None = None) -> str | None:
        """Sends user input to the current run. Returns its outcome in the agent's response: `queued`,
        `started`."""
        told = self.call("steer", text=text, images=pictures(images))
        return told.get("outcome")

    def follow_up(self, text: str, *, images: Sequence[Image] | None = None) -> str | None:
        """Queues user input that the agent reads when it would otherwise stop."""
        told = self.call("followUp", text=text, images=pictures(images))
        return told.get("outcome")

    def abort(self) -> None:
        """Aborts the current run."""
        self.call("abort")

    def clear_queue(self) -> ClearedQueue:
        """Clears the queues and returns their content."""
        told = self.call("clearQueue")
        return ClearedQueue.of(told)

    def new_session(self) -> bool:
        """Starts a new session. Returns `False` if an extension of the agent prevented it."""
        told = self.call("newSession")
        return told.get("cancelled") is not True

    def open_session(self, session: str) -> bool:
        """Opens a stored session by its file, or by its id if the state has no file. Returns `False` if an
        extension prevented it."""
        told = self.call("openSession", session=session)
        return told.get("cancelled") is not True

    def list_sessions(self) -> tuple[KeptSession, ...]:
        """Returns the stored sessions."""
        told = self.call("listSessions")
        return records(KeptSession, told.get("sessions"))

    def delete_session(self, session: str) -> None:
        """Deletes a stored session."""
        self.call("deleteSession", session=session)

    def clone_session(self) -> bool:
        """Continues in a copy of the session. Returns `False` if an extension prevented it."""
        told = self.call("cloneSession")
        return told.get("cancelled") is not True

    def fork(self, entry: str) -> Forked:
        """Continues from an earlier entry of the conversation."""
        told = self.call("fork", entry=entry)
        return Forked.of(told)

    def fork_points(self) -> tuple[ForkPoint, ...]:
        """Returns the entries from which a fork is possible."""
        told = self.call("forkPoints")
        return records(ForkPoint, told.get("points"))

    def state(self) -> State:
        """Returns the activity of the agent and its settings."""
        told = self.call("state")
        return State.of(told)

    def messages(self) -> tuple[Message, ...]:
        """Returns the messages of the conversation. Afterwards `conversation` holds them too."""
        told = self.call("messages")
        return records(Message, told.get("messages"))

    def last_text(self) -> str | None:
        """Returns the text of the model's last message."""
        told = self.call("lastText")
        return told.get("text")

    def stats(self) -> Stats:
        """Returns tokens and cost of the session."""
        told = self.call("stats")
        return Stats.of(told)

    def models(self) -> tuple[Model, ...]:
        """Returns the available models."""
        told = self.call("models")
        return records(Model, told.get("models"))

    def set_model(self, provider: str, id: str) -> None:
        """Selects a model."""
        self.call("setModel", provider=provider, id=id)

    def cycle_model(self) -> Model | None:
        """Selects the next model and returns it."""
        told = self.call("cycleModel")
        return record(Model, told.get("model"))

    def thinking_levels(self) -> tuple[str, ...]:
        """Returns the available thinking levels."""
        told = self.call("thinkingLevels")
        return tuple(told.get("levels") or ())

    def set_thinking(self, level: str) -> None:
        """Selects a thinking level."""
        self.call("setThinking", level=level)

    def cycle_thinking(self) -> str | None:
        """Selects the next thinking level and returns it."""
        told = self.call("cycleThinking")
        return told.get("thinkingLevel")

    def set_steering_mode(self, mode: str) -> None:
        """Sets the delivery of steering input: all at once or one at a time."""
        self.call("setSteeringMode", mode=mode)

    def set_follow_up_mode(self, mode: str) -> None:
        """Sets the delivery of follow-up input: all at once or one at a time."""
        self.call("setFollowUpMode", mode=mode)

    def set_interrupt_mode(self, mode: str) -> None:
        """Sets the moment at which steering input reaches the run."""
        self.call("setInterruptMode", mode=mode)

    def compact(self, instructions: str | None = None) -> Message | None:
        """Replaces older messages by a summary. Returns the summary if the agent sends it."""
        told = self.call("compact", instructions=instructions)
        return record(Message, told.get("message"))

    def set_auto_compaction(self, enabled: bool) -> None:
        """Enables or disables automatic compaction."""
        self.call("setAutoCompaction", enabled=enabled)

    def set_auto_retry(self, enabled: bool) -> None:
        """Enables or disables automatic retries of failed model requests."""
        self.call("setAutoRetry", enabled=enabled)

    def abort_retry(self) -> None:
        """Ends the pause before a retry, and the run with it."""
        self.call("abortRetry")

    def bash(self, command: str) -> ShellResult:
        """Runs a shell command of the user; its output enters the conversation."""
        told = self.call("bash", command=command)
        return ShellResult.of(told)

    def abort_bash(self) -> None:
        """Stops the user's shell command."""
        self.call("abortBash")

    def export(self, path: str | None = None) -> str | None:
        """Exports the conversation as a page and returns its path."""
        told = self.call("export", path=path)
        return told.get("path")

    def set_session_name(self, name: str) -> None:
        """Sets the name of the session."""
        self.call("setSessionName", name=name)

    def commands(self) -> tuple[SlashCommand, ...]:
        """Returns the commands that a prompt can invoke with `/name`."""
        told = self.call("commands")
        return records(SlashCommand, told.get("commands"))

    def todos(self) -> tuple[Todo, ...]:
        """Returns the open tasks of the agent."""
        told = self.call("todos")
        return records(Todo, told.get("todos"))
