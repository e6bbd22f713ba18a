"""The driver of this library for `agentese-conformance run --client`: instructions on stdin and reports on stdout, one
line of JSON each, as described in docs/conformance-clients.md."""

# Values of any shape pass through here.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import importlib
import importlib.metadata
import json
import re
import sys
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from agentese import AgenteseError, RefusedError, TerminatedError, TimedOutError
from agentese.aio import AsyncRunBase

Json = dict[str, Any]


def report(kind: str, /, **members: Any) -> None:
    sys.stdout.write(json.dumps({"report": kind, **members}) + "\n")
    sys.stdout.flush()


def plain(value: Any) -> Any:
    """Returns the JSON value from which a value was decoded."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value.to_dict() if hasattr(value, "to_dict") else value


def failure(error: AgenteseError) -> tuple[str, Json]:
    if isinstance(error, RefusedError):
        return "refused", {"message": error.message, "code": error.code}
    kinds = ((TerminatedError, "terminated"), (TimedOutError, "timed_out"))
    return next((kind for of, kind in kinds if isinstance(error, of)), "failed"), {"message": str(error)}


class DialogReporter:
    """Reports dialogs to the suite. Each dialog waits for the answer from the suite."""

    WIRE: ClassVar = {"set_status": "setStatus", "set_widget": "setWidget", "set_title": "setTitle"}

    def __init__(self, dialect: str) -> None:
        self.prefix = "client/" if dialect == "opal" else ""
        self.waiting: list[asyncio.Future[Any]] = []

    def __getattr__(self, name: str) -> Callable[[Any], Awaitable[Any]]:
        async def ask(dialog: Any) -> Any:
            answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self.waiting.append(answer)
            method = self.prefix + self.WIRE.get(name, name)
            report("dialog", dialog=str(len(self.waiting)), method=method, params=plain(dialog))
            return await answer

        return ask

    def answer(self, dialog: str, members: Json | None) -> None:
        """Answers a dialog with the value of the only member, because the library builds the object
        itself. The suite never dismisses a dialog."""
        self.waiting[int(dialog) - 1].set_result(next(iter(members.values())) if members else None)


class Driver:
    def __init__(self, message: Json) -> None:
        name = message["dialect"].partition("@")[0]
        module = importlib.import_module(f"agentese.{name}")
        self.reporter = DialogReporter(name)
        self.client = module.AsyncClient.spawn(message["command"], dialogs=self.reporter, revision=message["dialect"])
        self.tasks = [asyncio.create_task(self.listen(self.client.events()))]
        # In this dialect the response ends the run, so the driver reports the run as the call.
        self.answers_at_the_end = name == "operator"
        own = ["get_state"] if hasattr(self.client, "get_state") else []
        version = importlib.metadata.version("agentese")
        report("ready", driver=1, library=f"agentese {version} (Python)", runs=True, sends=own)

    async def listen(self, events: Any) -> None:
        try:
            async for event in events:
                report("event", event=plain(event))
        except TerminatedError as end:
            if end.termination.cause != "closed":
                report("terminated", code=end.exit_code, signal=end.signal)

    async def call(self, call: str, command: str, params: Json) -> None:
        helper = getattr(self.client, command.replace("/", "_"))
        names = {name: re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name) for name in params}
        try:
            value = await helper(**{names[name]: value for name, value in params.items()})
            if isinstance(value, AsyncRunBase):
                await self.run(call, value)
            else:
                report("result", call=call, value=plain(value))
        except AgenteseError as error:
            kind, members = failure(error)
            report("error", call=call, kind=kind, **members)

    async def run(self, call: str, run: AsyncRunBase[Any, Any]) -> None:
        if not self.answers_at_the_end:
            report("result", call=call, value=run.answer)
        try:
            failed = (result := await run.wait()).failure
        except AgenteseError as error:
            if self.answers_at_the_end:
                raise
            kind, members = failure(error)
            report("run_end", call=call, error=kind, message=members["message"])
            return
        if failed is not None and result.ended_by == "answer":
            # If the response ends a failed run, the driver reports the call as refused.
            report("error", call=call, kind="refused", message=failed.message)
            return
        if self.answers_at_the_end:
            report("result", call=call)
        report("run_end", call=call)

    async def close(self) -> None:
        await self.client.close()
        await asyncio.gather(*self.tasks)
        report("closed")


async def main() -> None:
    loop = asyncio.get_running_loop()
    driver: Driver | None = None
    while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
        message: Json = json.loads(line)
        instruction = message.pop("instruction")
        if driver is None:
            driver = Driver(message)
        elif instruction == "call":
            driver.tasks.append(asyncio.create_task(driver.call(**message)))
        elif instruction == "answer":
            driver.reporter.answer(message["dialog"], message.get("answer"))
        else:
            await driver.close()
            return


asyncio.run(main())
