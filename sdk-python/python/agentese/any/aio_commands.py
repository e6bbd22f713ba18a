"""Neutral commands as methods, for event loops."""

from collections.abc import Sequence

from agentese.any.results import ClearedQueue, Forked, Image, KeptSession, ShellResult, State, Stats
from agentese.any.words import pictures, record, records
from agentese.view.conversation import ForkPoint, Json, Message, Model, SlashCommand, Todo


class AsyncCommands:
    """Commands for an agent of any dialect, for tasks of an event loop. If the dialect has no command for it,
    a method raises `NotInDialectError` before anything is sent."""

    __slots__ = ()

    async def call(self, intent: str, **params: Json) -> dict[str, Json]:
        """Executes an intent with neutral parameters and returns its neutral results; see
        docs/reference/intents.md."""
        raise NotImplementedError

    async def steer(self, text: str, *, images: Sequence[Image] | None = None) -> str | None:
        """Sends user input to the current run. Returns its outcome in the agent's response: `queued`,
        `started`."""
        told = await self.call("steer", text=text, images=pictures(images))
        return told.get("outcome")

    async def follow_up(self, text: str, *, images: Sequence[Image] | None = None) -> str | None:
        """Queues user input that the agent reads when it would otherwise stop."""
        told = await self.call("followUp", text=text, images=pictures(images))
        return told.get("outcome")

    async def abort(self) -> None:
        """Aborts the current run."""
        await self.call("abort")

    async def clear_queue(self) -> ClearedQueue:
        """Clears the queues and returns their content."""
        told = await self.call("clearQueue")
        return ClearedQueue.of(told)

    async def new_session(self) -> bool:
        """Starts a new session. Returns `False` if an extension of the agent prevented it."""
        told = await self.call("newSession")
        return told.get("cancelled") is not True

    async def open_session(self, session: str) -> bool:
        """Opens a stored session by its file, or by its id if the state has no file. Returns `False` if an
        extension prevented it."""
        told = await self.call("openSession", session=session)
        return told.get("cancelled") is not True

    async def list_sessions(self) -> tuple[KeptSession, ...]:
        """Returns the stored sessions."""
        told = await self.call("listSessions")
        return records(KeptSession, told.get("sessions"))

    async def delete_session(self, session: str) -> None:
        """Deletes a stored session."""
        await self.call("deleteSession", session=session)

    async def clone_session(self) -> bool:
        """Continues in a copy of the session. Returns `False` if an extension prevented it."""
        told = await self.call("cloneSession")
        return told.get("cancelled") is not True

    async def fork(self, entry: str) -> Forked:
        """Continues from an earlier entry of the conversation."""
        told = await self.call("fork", entry=entry)
        return Forked.of(told)

    async def fork_points(self) -> tuple[ForkPoint, ...]:
        """Returns the entries from which a fork is possible."""
        told = await self.call("forkPoints")
        return records(ForkPoint, told.get("points"))

    async def state(self) -> State:
        """Returns the activity of the agent and its settings."""
        told = await self.call("state")
        return State.of(told)

    async def messages(self) -> tuple[Message, ...]:
        """Returns the messages of the conversation. Afterwards `conversation` holds them too."""
        told = await self.call("messages")
        return records(Message, told.get("messages"))

    async def last_text(self) -> str | None:
        """Returns the text of the model's last message."""
        told = await self.call("lastText")
        return told.get("text")

    async def stats(self) -> Stats:
        """Returns tokens and cost of the session."""
        told = await self.call("stats")
        return Stats.of(told)

    async def models(self) -> tuple[Model, ...]:
        """Returns the available models."""
        told = await self.call("models")
        return records(Model, told.get("models"))

    async def set_model(self, provider: str, id: str) -> None:
        """Selects a model."""
        await self.call("setModel", provider=provider, id=id)

    async def cycle_model(self) -> Model | None:
        """Selects the next model and returns it."""
        told = await self.call("cycleModel")
        return record(Model, told.get("model"))

    async def thinking_levels(self) -> tuple[str, ...]:
        """Returns the available thinking levels."""
        told = await self.call("thinkingLevels")
        return tuple(told.get("levels") or ())

    async def set_thinking(self, level: str) -> None:
        """Selects a thinking level."""
        await self.call("setThinking", level=level)

    async def cycle_thinking(self) -> str | None:
        """Selects the next thinking level and returns it."""
        told = await self.call("cycleThinking")
        return told.get("thinkingLevel")

    async def set_steering_mode(self, mode: str) -> None:
        """Sets the delivery of steering input: all at once or one at a time."""
        await self.call("setSteeringMode", mode=mode)

    async def set_follow_up_mode(self, mode: str) -> None:
        """Sets the delivery of follow-up input: all at once or one at a time."""
        await self.call("setFollowUpMode", mode=mode)

    async def set_interrupt_mode(self, mode: str) -> None:
        """Sets the moment at which steering input reaches the run."""
        await self.call("setInterruptMode", mode=mode)

    async def compact(self, instructions: str | None = None) -> Message | None:
        """Replaces older messages by a summary. Returns the summary if the agent sends it."""
        told = await self.call("compact", instructions=instructions)
        return record(Message, told.get("message"))

    async def set_auto_compaction(self, enabled: bool) -> None:
        """Enables or disables automatic compaction."""
        await self.call("setAutoCompaction", enabled=enabled)

    async def set_auto_retry(self, enabled: bool) -> None:
        """Enables or disables automatic retries of failed model requests."""
        await self.call("setAutoRetry", enabled=enabled)

    async def abort_retry(self) -> None:
        """Ends the pause before a retry, and the run with it."""
        await self.call("abortRetry")

    async def bash(self, command: str) -> ShellResult:
        """Runs a shell command of the user; its output enters the conversation."""
        told = await self.call("bash", command=command)
        return ShellResult.of(told)

    async def abort_bash(self) -> None:
        """Stops the user's shell command."""
        await self.call("abortBash")

    async def export(self, path: str | None = None) -> str | None:
        """Exports the conversation as a page and returns its path."""
        told = await self.call("export", path=path)
        return told.get("path")

    async def set_session_name(self, name: str) -> None:
        """Sets the name of the session."""
        await self.call("setSessionName", name=name)

    async def commands(self) -> tuple[SlashCommand, ...]:
        """Returns the commands that a prompt can invoke with `/name`."""
        told = await self.call("commands")
        return records(SlashCommand, told.get("commands"))

    async def todos(self) -> tuple[Todo, ...]:
        """Returns the open tasks of the agent."""
        told = await self.call("todos")
        return records(Todo, told.get("todos"))
