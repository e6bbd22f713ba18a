"""The neutral commands as methods, for event loops."""

from collections.abc import Sequence

from agentese.any.results import ClearedQueue, Forked, Image, KeptSession, ShellResult, State, Stats
from agentese.any.words import pictures, record, records
from agentese.view.conversation import ForkPoint, Json, Message, Model, SlashCommand, Todo


class AsyncCommands:
    """What can be asked of an agent of any dialect, by tasks of an event loop. Each method raises `NotInDialectError`
    before anything is sent where the agent's dialect has no command for it."""

    __slots__ = ()

    async def call(self, intent: str, **params: Json) -> dict[str, Json]:
        """Carries out an intent with neutral parameters, and gives its neutral results: docs/reference/intents.md."""
        raise NotImplementedError

    async def steer(self, text: str, *, images: Sequence[Image] | None = None) -> str | None:
        """Sends words to the run that is going on. Gives what the agent says that becomes of them: `queued`, `started`."""
        told = await self.call("steer", text=text, images=pictures(images))
        return told.get("outcome")

    async def follow_up(self, text: str, *, images: Sequence[Image] | None = None) -> str | None:
        """Queues words that the agent reads when it would stop."""
        told = await self.call("followUp", text=text, images=pictures(images))
        return told.get("outcome")

    async def abort(self) -> None:
        """Stops the run that is going on."""
        await self.call("abort")

    async def clear_queue(self) -> ClearedQueue:
        """Takes back what waits in the queues."""
        told = await self.call("clearQueue")
        return ClearedQueue.of(told)

    async def new_session(self) -> bool:
        """Starts a new session. Gives false where an extension of the agent prevented it."""
        told = await self.call("newSession")
        return told.get("cancelled") is not True

    async def open_session(self, session: str) -> bool:
        """Opens a session that is kept, by its file where the state has one, else by its id."""
        told = await self.call("openSession", session=session)
        return told.get("cancelled") is not True

    async def list_sessions(self) -> tuple[KeptSession, ...]:
        """The sessions that are kept."""
        told = await self.call("listSessions")
        return records(KeptSession, told.get("sessions"))

    async def delete_session(self, session: str) -> None:
        """Deletes a session that is kept."""
        await self.call("deleteSession", session=session)

    async def clone_session(self) -> bool:
        """Goes on in a copy of the session."""
        told = await self.call("cloneSession")
        return told.get("cancelled") is not True

    async def fork(self, entry: str) -> Forked:
        """Goes on from an earlier place of the conversation."""
        told = await self.call("fork", entry=entry)
        return Forked.of(told)

    async def fork_points(self) -> tuple[ForkPoint, ...]:
        """The places from which a fork can be made."""
        told = await self.call("forkPoints")
        return records(ForkPoint, told.get("points"))

    async def state(self) -> State:
        """What the agent is doing, and with which settings."""
        told = await self.call("state")
        return State.of(told)

    async def messages(self) -> tuple[Message, ...]:
        """The messages of the conversation; `conversation` has them too, once they were asked for."""
        told = await self.call("messages")
        return records(Message, told.get("messages"))

    async def last_text(self) -> str | None:
        """The text of the model's last message."""
        told = await self.call("lastText")
        return told.get("text")

    async def stats(self) -> Stats:
        """Tokens and cost of the session."""
        told = await self.call("stats")
        return Stats.of(told)

    async def models(self) -> tuple[Model, ...]:
        """The models that can be chosen."""
        told = await self.call("models")
        return records(Model, told.get("models"))

    async def set_model(self, provider: str, id: str) -> None:
        """Chooses a model."""
        await self.call("setModel", provider=provider, id=id)

    async def cycle_model(self) -> Model | None:
        """Chooses the next model, and gives it."""
        told = await self.call("cycleModel")
        return record(Model, told.get("model"))

    async def thinking_levels(self) -> tuple[str, ...]:
        """The thinking levels that can be chosen."""
        told = await self.call("thinkingLevels")
        return tuple(told.get("levels") or ())

    async def set_thinking(self, level: str) -> None:
        """Chooses a thinking level."""
        await self.call("setThinking", level=level)

    async def cycle_thinking(self) -> str | None:
        """Chooses the next thinking level, and gives it."""
        told = await self.call("cycleThinking")
        return told.get("thinkingLevel")

    async def set_steering_mode(self, mode: str) -> None:
        """Says how steering words are handed over: all at once or one at a time."""
        await self.call("setSteeringMode", mode=mode)

    async def set_follow_up_mode(self, mode: str) -> None:
        """Says how follow-up words are handed over: all at once or one at a time."""
        await self.call("setFollowUpMode", mode=mode)

    async def set_interrupt_mode(self, mode: str) -> None:
        """Says when steering words reach the run."""
        await self.call("setInterruptMode", mode=mode)

    async def compact(self, instructions: str | None = None) -> Message | None:
        """Puts a summary in the place of older messages, and gives it where the agent does."""
        told = await self.call("compact", instructions=instructions)
        return record(Message, told.get("message"))

    async def set_auto_compaction(self, enabled: bool) -> None:
        """Says whether the agent makes summaries by itself."""
        await self.call("setAutoCompaction", enabled=enabled)

    async def set_auto_retry(self, enabled: bool) -> None:
        """Says whether failed requests to the model are made again."""
        await self.call("setAutoRetry", enabled=enabled)

    async def abort_retry(self) -> None:
        """Ends the wait before a request that is made again, and the run with it."""
        await self.call("abortRetry")

    async def bash(self, command: str) -> ShellResult:
        """Runs a shell command of the user; its output enters the conversation."""
        told = await self.call("bash", command=command)
        return ShellResult.of(told)

    async def abort_bash(self) -> None:
        """Stops the user's shell command."""
        await self.call("abortBash")

    async def export(self, path: str | None = None) -> str | None:
        """Writes the conversation as a page, and gives the file."""
        told = await self.call("export", path=path)
        return told.get("path")

    async def set_session_name(self, name: str) -> None:
        """Gives the session a name."""
        await self.call("setSessionName", name=name)

    async def commands(self) -> tuple[SlashCommand, ...]:
        """What a prompt can invoke with `/name`."""
        told = await self.call("commands")
        return records(SlashCommand, told.get("commands"))

    async def todos(self) -> tuple[Todo, ...]:
        """What the agent has still to do."""
        told = await self.call("todos")
        return records(Todo, told.get("todos"))
