"""Neutral commands as methods, for event loops."""

from collections.abc import Sequence

from agentese.any.conversion import image_params, record, records
from agentese.any.results import ClearedQueue, ForkResult, Image, ShellResult, State, Stats, StoredSession
from agentese.view.conversation import ForkPoint, Json, Message, Model, SlashCommand, Todo


class AsyncCommands:
    """Commands for an agent of any dialect, for tasks of an event loop. A method raises `NotInDialectError`,
    and sends nothing, if the dialect has no command for its intent."""

    __slots__ = ()

    async def call(self, intent: str, **params: Json) -> dict[str, Json]:
        """Executes an intent with neutral parameters and returns its neutral results; see
        docs/reference/intents.md."""
        raise NotImplementedError

    async def steer(self, text: str, *, images: Sequence[Image] | None = None) -> str | None:
        """Sends user input to the current run. Returns the outcome that the agent reports, `queued` or
        `started`."""
        results = await self.call("steer", text=text, images=image_params(images))
        return results.get("outcome")

    async def follow_up(self, text: str, *, images: Sequence[Image] | None = None) -> str | None:
        """Queues user input for the moment at which the agent would otherwise stop."""
        results = await self.call("followUp", text=text, images=image_params(images))
        return results.get("outcome")

    async def abort(self) -> None:
        """Aborts the current run."""
        await self.call("abort")

    async def clear_queue(self) -> ClearedQueue:
        """Clears the queues and returns their content."""
        results = await self.call("clearQueue")
        return ClearedQueue.of(results)

    async def new_session(self) -> bool:
        """Starts a new session. Returns `False` if an extension of the agent prevented it."""
        results = await self.call("newSession")
        return results.get("cancelled") is not True

    async def open_session(self, session: str) -> bool:
        """Opens a stored session, by its file, or by its id in dialects without files. Returns `False` if an
        extension of the agent prevented it."""
        results = await self.call("openSession", session=session)
        return results.get("cancelled") is not True

    async def list_sessions(self) -> tuple[StoredSession, ...]:
        """Returns the stored sessions."""
        results = await self.call("listSessions")
        return records(StoredSession, results.get("sessions"))

    async def delete_session(self, session: str) -> None:
        """Deletes a stored session."""
        await self.call("deleteSession", session=session)

    async def clone_session(self) -> bool:
        """Continues in a copy of the session. Returns `False` if an extension prevented it."""
        results = await self.call("cloneSession")
        return results.get("cancelled") is not True

    async def fork(self, entry: str) -> ForkResult:
        """Continues in a new session with the conversation before an earlier entry."""
        results = await self.call("fork", entry=entry)
        return ForkResult.of(results)

    async def fork_points(self) -> tuple[ForkPoint, ...]:
        """Returns the entries from which a fork is possible."""
        results = await self.call("forkPoints")
        return records(ForkPoint, results.get("points"))

    async def state(self) -> State:
        """Returns the current activity and the settings of the agent."""
        results = await self.call("state")
        return State.of(results)

    async def messages(self) -> tuple[Message, ...]:
        """Returns the messages of the conversation. `conversation` then contains them too."""
        results = await self.call("messages")
        return records(Message, results.get("messages"))

    async def last_text(self) -> str | None:
        """Returns the text of the model's last message."""
        results = await self.call("lastText")
        return results.get("text")

    async def stats(self) -> Stats:
        """Returns the tokens and the cost of the session."""
        results = await self.call("stats")
        return Stats.of(results)

    async def models(self) -> tuple[Model, ...]:
        """Returns the available models."""
        results = await self.call("models")
        return records(Model, results.get("models"))

    async def set_model(self, provider: str, id: str) -> None:
        """Selects a model."""
        await self.call("setModel", provider=provider, id=id)

    async def cycle_model(self) -> Model | None:
        """Selects the next model and returns it."""
        results = await self.call("cycleModel")
        return record(Model, results.get("model"))

    async def thinking_levels(self) -> tuple[str, ...]:
        """Returns the available thinking levels."""
        results = await self.call("thinkingLevels")
        return tuple(results.get("levels") or ())

    async def set_thinking(self, level: str) -> None:
        """Selects a thinking level."""
        await self.call("setThinking", level=level)

    async def cycle_thinking(self) -> str | None:
        """Selects the next thinking level and returns it."""
        results = await self.call("cycleThinking")
        return results.get("thinkingLevel")

    async def set_steering_mode(self, mode: str) -> None:
        """Sets the delivery of steering input: all at once or one at a time."""
        await self.call("setSteeringMode", mode=mode)

    async def set_follow_up_mode(self, mode: str) -> None:
        """Sets the delivery of follow-up input: all at once or one at a time."""
        await self.call("setFollowUpMode", mode=mode)

    async def set_interrupt_mode(self, mode: str) -> None:
        """Sets the moment at which steering input reaches the run. `mode` is a value of the
        dialect, such as `immediate`.
        """
        await self.call("setInterruptMode", mode=mode)

    async def compact(self, instructions: str | None = None) -> Message | None:
        """Replaces older messages by a summary. Returns the summary, or `None` if the agent does not send it."""
        results = await self.call("compact", instructions=instructions)
        return record(Message, results.get("message"))

    async def set_auto_compaction(self, enabled: bool) -> None:
        """Enables or disables automatic compaction."""
        await self.call("setAutoCompaction", enabled=enabled)

    async def set_auto_retry(self, enabled: bool) -> None:
        """Enables or disables automatic retries of failed model requests."""
        await self.call("setAutoRetry", enabled=enabled)

    async def abort_retry(self) -> None:
        """Ends the pause before a retry. The run ends too."""
        await self.call("abortRetry")

    async def bash(self, command: str) -> ShellResult:
        """Runs a shell command of the user; its output enters the conversation."""
        results = await self.call("bash", command=command)
        return ShellResult.of(results)

    async def abort_bash(self) -> None:
        """Stops the user's shell command."""
        await self.call("abortBash")

    async def export(self, path: str | None = None) -> str | None:
        """Exports the conversation as a page and returns its path."""
        results = await self.call("export", path=path)
        return results.get("path")

    async def set_session_name(self, name: str) -> None:
        """Sets the name of the session."""
        await self.call("setSessionName", name=name)

    async def commands(self) -> tuple[SlashCommand, ...]:
        """Returns the commands that a prompt can invoke with `/name`."""
        results = await self.call("commands")
        return records(SlashCommand, results.get("commands"))

    async def todos(self) -> tuple[Todo, ...]:
        """Returns the open tasks of the agent."""
        results = await self.call("todos")
        return records(Todo, results.get("todos"))
