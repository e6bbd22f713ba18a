"""Neutral commands as methods, for threads."""

from collections.abc import Sequence

from agentese.any.conversion import image_params, record, records
from agentese.any.results import ClearedQueue, ForkResult, Image, ShellResult, State, Stats, StoredSession
from agentese.view.conversation import ForkPoint, Json, Message, Model, SlashCommand, Todo


class Commands:
    """Commands for an agent of any dialect. A method raises `NotInDialectError`, and sends nothing, if the
    dialect has no command for its intent."""

    __slots__ = ()

    def call(self, intent: str, **params: Json) -> dict[str, Json]:
        """Executes an intent with neutral parameters and returns its neutral results; see
        docs/reference/intents.md."""
        raise NotImplementedError

    def steer(self, text: str, *, images: Sequence[Image] | None = None) -> str | None:
        """Sends user input to the current run. Returns the outcome that the agent reports, `queued` or
        `started`."""
        results = self.call("steer", text=text, images=image_params(images))
        return results.get("outcome")

    def follow_up(self, text: str, *, images: Sequence[Image] | None = None) -> str | None:
        """Queues user input for the moment at which the agent would otherwise stop."""
        results = self.call("followUp", text=text, images=image_params(images))
        return results.get("outcome")

    def abort(self) -> None:
        """Aborts the current run."""
        self.call("abort")

    def clear_queue(self) -> ClearedQueue:
        """Clears the queues and returns their content."""
        results = self.call("clearQueue")
        return ClearedQueue.of(results)

    def new_session(self) -> bool:
        """Starts a new session. Returns `False` if an extension of the agent prevented it."""
        results = self.call("newSession")
        return results.get("cancelled") is not True

    def open_session(self, session: str) -> bool:
        """Opens a stored session, by its file, or by its id in dialects without files. Returns `False` if an
        extension of the agent prevented it."""
        results = self.call("openSession", session=session)
        return results.get("cancelled") is not True

    def list_sessions(self) -> tuple[StoredSession, ...]:
        """Returns the stored sessions."""
        results = self.call("listSessions")
        return records(StoredSession, results.get("sessions"))

    def delete_session(self, session: str) -> None:
        """Deletes a stored session."""
        self.call("deleteSession", session=session)

    def clone_session(self) -> bool:
        """Continues in a copy of the session. Returns `False` if an extension prevented it."""
        results = self.call("cloneSession")
        return results.get("cancelled") is not True

    def fork(self, entry: str) -> ForkResult:
        """Continues in a new session with the conversation before an earlier entry."""
        results = self.call("fork", entry=entry)
        return ForkResult.of(results)

    def fork_points(self) -> tuple[ForkPoint, ...]:
        """Returns the entries from which a fork is possible."""
        results = self.call("forkPoints")
        return records(ForkPoint, results.get("points"))

    def state(self) -> State:
        """Returns the current activity and the settings of the agent."""
        results = self.call("state")
        return State.of(results)

    def messages(self) -> tuple[Message, ...]:
        """Returns the messages of the conversation. `conversation` then contains them too."""
        results = self.call("messages")
        return records(Message, results.get("messages"))

    def last_text(self) -> str | None:
        """Returns the text of the model's last message."""
        results = self.call("lastText")
        return results.get("text")

    def stats(self) -> Stats:
        """Returns the tokens and the cost of the session."""
        results = self.call("stats")
        return Stats.of(results)

    def models(self) -> tuple[Model, ...]:
        """Returns the available models."""
        results = self.call("models")
        return records(Model, results.get("models"))

    def set_model(self, provider: str, id: str) -> None:
        """Selects a model."""
        self.call("setModel", provider=provider, id=id)

    def cycle_model(self) -> Model | None:
        """Selects the next model and returns it."""
        results = self.call("cycleModel")
        return record(Model, results.get("model"))

    def thinking_levels(self) -> tuple[str, ...]:
        """Returns the available thinking levels."""
        results = self.call("thinkingLevels")
        return tuple(results.get("levels") or ())

    def set_thinking(self, level: str) -> None:
        """Selects a thinking level."""
        self.call("setThinking", level=level)

    def cycle_thinking(self) -> str | None:
        """Selects the next thinking level and returns it."""
        results = self.call("cycleThinking")
        return results.get("thinkingLevel")

    def set_steering_mode(self, mode: str) -> None:
        """Sets the delivery of steering input: all at once or one at a time."""
        self.call("setSteeringMode", mode=mode)

    def set_follow_up_mode(self, mode: str) -> None:
        """Sets the delivery of follow-up input: all at once or one at a time."""
        self.call("setFollowUpMode", mode=mode)

    def set_interrupt_mode(self, mode: str) -> None:
        """Sets the moment at which steering input reaches the run. `mode` is a value of the
        dialect, such as `immediate`.
        """
        self.call("setInterruptMode", mode=mode)

    def compact(self, instructions: str | None = None) -> Message | None:
        """Replaces older messages by a summary. Returns the summary, or `None` if the agent does not send it."""
        results = self.call("compact", instructions=instructions)
        return record(Message, results.get("message"))

    def set_auto_compaction(self, enabled: bool) -> None:
        """Enables or disables automatic compaction."""
        self.call("setAutoCompaction", enabled=enabled)

    def set_auto_retry(self, enabled: bool) -> None:
        """Enables or disables automatic retries of failed model requests."""
        self.call("setAutoRetry", enabled=enabled)

    def abort_retry(self) -> None:
        """Ends the pause before a retry. The run ends too."""
        self.call("abortRetry")

    def bash(self, command: str) -> ShellResult:
        """Runs a shell command of the user; its output enters the conversation."""
        results = self.call("bash", command=command)
        return ShellResult.of(results)

    def abort_bash(self) -> None:
        """Stops the user's shell command."""
        self.call("abortBash")

    def export(self, path: str | None = None) -> str | None:
        """Exports the conversation as a page and returns its path."""
        results = self.call("export", path=path)
        return results.get("path")

    def set_session_name(self, name: str) -> None:
        """Sets the name of the session."""
        self.call("setSessionName", name=name)

    def commands(self) -> tuple[SlashCommand, ...]:
        """Returns the commands that a prompt can invoke with `/name`."""
        results = self.call("commands")
        return records(SlashCommand, results.get("commands"))

    def todos(self) -> tuple[Todo, ...]:
        """Returns the open tasks of the agent."""
        results = self.call("todos")
        return records(Todo, results.get("todos"))
