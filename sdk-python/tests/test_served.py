"""Each row of a dialect, exercised against the reference agent, from
conformance/vectors/served.json.
"""

import asyncio
import contextlib
import json
import queue
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from support.driver import DIALECTS, LIMIT

from agentese import RefusedError, TerminatedError

TABLE = json.loads((ROOT / "conformance/vectors/served.json").read_text())
# The first revision of each dialect, which the agent serves if the command line names no revision.
MODEL = {row["name"]: row for row in reversed(json.loads((ROOT / "protocol/model.json").read_text())["dialects"])}


class Play:
    """A running agent and a client."""

    def __init__(self, dialect: str, play: dict[str, Any], agent: Path, place: Path) -> None:
        self.dialect, self.play, self.agent = dialect, play, agent
        self.home, self.work = place / "home", place / "work"
        self.home.mkdir()
        self.words = {"WORK": str(self.work)}
        self.commands: set[str] = set()
        self.events: set[str] = set()
        self.dialogs: set[str] = set()
        for name, text in play["files"].items():
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            (self.work / name).write_text(text)
        self.script = place / "script.json"
        self.script.write_text(json.dumps(play["model"]))

    def command(self) -> list[str]:
        if self.play["agent"] != "agentese":
            example = self.agent.parent / "examples" / self.play["agent"]
            assert example.exists(), f"{example} is not built: cargo build --workspace --examples"
            return [str(example), self.dialect, str(self.script)]
        words = [str(self.agent), "--mode", "rpc", "--dialect", self.dialect, "--provider", "scripted", "--script", str(self.script)]
        return [*words, *(["-e", str(ROOT / self.play["extension"])] if "extension" in self.play else [])]

    def handlers(self, base: type) -> Any:
        """Returns dialog handlers that give the answers of the table. `base` is the base class of
        the client's handlers.
        """
        module = DIALECTS[self.dialect]
        if not self.play["answers"]:
            return None

        def answer(name: str, value: str) -> Any:
            def handler(_: Any, dialog: Any) -> str:
                self.dialogs.add(name)
                return value

            async def later(_: Any, dialog: Any) -> str:
                return handler(_, dialog)

            return later if base is module.AsyncDialogs else handler

        return type("Handlers", (base,), {name: answer(name, value) for name, value in self.play["answers"].items()})()

    def options(self) -> dict[str, Any]:
        gone = ["AGENTESE_HOME", "OPAL_HOME", "OPAL_COPILOT_DOMAIN", "ANTHROPIC_API_KEY"]
        return {"cwd": self.work, "env": {"HOME": str(self.home)}, "env_remove": gone}

    def run(self) -> None:
        module = DIALECTS[self.dialect]
        handlers = self.handlers(getattr(module, "Dialogs", object))
        heard: queue.Queue[str] = queue.Queue()
        with module.Client.spawn(self.command(), dialogs=handlers, **self.options()) as client:
            events = client.events()

            def listen() -> None:
                # The connection has ended, and the stream of events with it.
                with contextlib.suppress(TerminatedError):
                    for event in events:
                        heard.put(event.type)

            listener = threading.Thread(target=listen)
            listener.start()
            for step in self.play["steps"]:
                if "until" in step:
                    while not self.matches(heard.get(timeout=LIMIT), step):
                        pass
                elif not self.touch(step):
                    with self.called(step) as (method, params, given):
                        given(getattr(client, method)(**params))
        listener.join(LIMIT)
        assert not listener.is_alive()

    async def run_async(self) -> None:
        module = DIALECTS[self.dialect]
        handlers = self.handlers(getattr(module, "AsyncDialogs", object))
        async with module.AsyncClient.spawn(self.command(), dialogs=handlers, **self.options()) as client:
            events = client.events()
            for step in self.play["steps"]:
                if "until" in step:
                    while not self.matches((await asyncio.wait_for(anext(events), LIMIT)).type, step):
                        pass
                elif not self.touch(step):
                    with self.called(step) as (method, params, given):
                        given(await getattr(client, method)(**params))

    def matches(self, kind: str, step: dict[str, Any]) -> bool:
        """Records an event. Returns `True` if the step waits for it."""
        self.events.add(kind)
        return bool(kind == step["until"])

    def touch(self, step: dict[str, Any]) -> bool:
        """Creates the file that the step names. Returns `False` if it names no file."""
        if "touch" in step:
            (self.work / step["touch"]).touch()
        return "touch" in step

    @contextlib.contextmanager
    def called(self, step: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Callable[[Any], None]]]:
        """Yields the method, the parameters, and a callback for the result. Checks the outcome of
        the call.
        """
        name = step.get("call") or step["start"]
        self.commands.add(name)
        params = self.filled(step.get("params", {}))
        if "fails" in step:
            with pytest.raises(RefusedError) as refused:
                yield name, params, lambda result: None
            assert refused.value.kind == step["fails"], f"{name}: {refused.value}"
            return
        results: list[Any] = []
        yield name, params, results.append
        for path, value in step.get("gives", {}).items():
            assert member(results[0], path) == self.filled(value), f"{name}: {path}"
        self.words |= {word: member(results[0], path) for word, path in step.get("keep", {}).items()}

    def filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self.filled(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner) for inner in value]
        return re.sub(r"\$\{(\w+)\}", lambda found: self.words[found[1]], value) if isinstance(value, str) else value


def member(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value[int(part)] if part.isdigit() else value[part] if isinstance(value, dict) else getattr(value, part)
    return value


@pytest.mark.parametrize("kind", ["threads", "asyncio"])
@pytest.mark.parametrize("dialect", list(TABLE))
def test_every_row_of_a_dialect(dialect, kind, agent, tmp_path):
    rows = MODEL[dialect]
    plays = []
    for number, play in enumerate(TABLE[dialect]):
        place = tmp_path / str(number)
        place.mkdir()
        plays.append(Play(dialect, play, Path(agent[0]), place))
        if kind == "asyncio":
            asyncio.run(plays[-1].run_async())
        else:
            plays[-1].run()

    def seen(kind: str) -> set[str]:
        return set().union(*(getattr(play, kind) for play in plays))

    assert seen("commands") == {row["name"] for row in rows["commands"]}
    assert seen("events") >= {row["name"] for row in rows["events"] if not row["undocumented"]}
    assert seen("dialogs") == {row["name"] for row in rows["dialogs"]}
