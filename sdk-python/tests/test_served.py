"""Every row of a dialect against the reference agent: the table of conformance/vectors/served.json."""

import contextlib
import json
import queue
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from support.driver import DIALECTS

from agentese import RefusedError, TerminatedError

TABLE = json.loads((ROOT / "conformance/vectors/served.json").read_text())
MODEL = {row["name"]: row for row in json.loads((ROOT / "protocol/model.json").read_text())["dialects"]}
LIMIT = 60.0


class Play:
    """One agent and its client."""

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

    def handlers(self) -> Any:
        def answer(name: str, value: str) -> Any:
            def handler(_: Any, dialog: Any) -> str:
                self.dialogs.add(name)
                return value

            return handler

        module = DIALECTS[self.dialect]
        if not self.play["answers"]:
            return None
        return type("Handlers", (module.Dialogs,), {name: answer(name, value) for name, value in self.play["answers"].items()})()

    def run(self) -> None:
        heard: queue.Queue[str] = queue.Queue()
        env = {"HOME": str(self.home)}
        gone = ["AGENTESE_HOME", "OPAL_HOME", "OPAL_COPILOT_DOMAIN", "ANTHROPIC_API_KEY"]
        options: dict[str, Any] = {"cwd": self.work, "env": env, "env_remove": gone, "dialogs": self.handlers()}
        with DIALECTS[self.dialect].Client.spawn(self.command(), **options) as client:
            events = client.events()

            def listen() -> None:
                # The end of the agent ends the events too.
                with contextlib.suppress(TerminatedError):
                    for event in events:
                        heard.put(event.type)

            listener = threading.Thread(target=listen)
            listener.start()
            for step in self.play["steps"]:
                self.step(client, step, heard)
        listener.join(LIMIT)
        assert not listener.is_alive()

    def step(self, client: Any, step: dict[str, Any], heard: "queue.Queue[str]") -> None:
        if "until" in step:
            while (kind := heard.get(timeout=LIMIT)) != step["until"]:
                self.events.add(kind)
            self.events.add(kind)
            return
        if "touch" in step:
            (self.work / step["touch"]).touch()
            return
        name = step.get("call") or step["start"]
        self.commands.add(name)
        params = self.filled(step.get("params", {}))
        if "fails" in step:
            with pytest.raises(RefusedError) as refused:
                getattr(client, name)(**params)
            assert refused.value.kind == step["fails"], f"{name}: {refused.value}"
            return
        result = getattr(client, name)(**params)
        for path, value in step.get("gives", {}).items():
            assert member(result, path) == self.filled(value), f"{name}: {path}"
        self.words |= {word: member(result, path) for word, path in step.get("keep", {}).items()}

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


@pytest.mark.parametrize("dialect", list(TABLE))
def test_every_row_of_a_dialect(dialect, agent, tmp_path):
    rows = MODEL[dialect]
    plays = []
    for number, play in enumerate(TABLE[dialect]):
        place = tmp_path / str(number)
        place.mkdir()
        plays.append(Play(dialect, play, Path(agent[0]), place))
        plays[-1].run()

    def seen(kind: str) -> set[str]:
        return set().union(*(getattr(play, kind) for play in plays))

    assert seen("commands") == {row["name"] for row in rows["commands"]}
    assert seen("events") >= {row["name"] for row in rows["events"] if not row["undocumented"]}
    assert seen("dialogs") == {row["name"] for row in rows["dialogs"]}
