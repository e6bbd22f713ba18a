"""The examples of this package's README and of the project's: they are the files in `examples`, and they run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
NAMES = ["ask", "ask_asyncio", "parrot"]


def blocks(readme):
    return re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)


def test_the_readmes_show_the_examples():
    examples = [(HERE / f"examples/{name}.py").read_text() for name in NAMES]
    assert blocks(HERE / "README.md") == examples
    assert blocks(HERE.parent / "README.md") == examples[:1]


@pytest.mark.parametrize("name, told", [("ask", "Cargo.toml"), ("ask_asyncio", "event")])
def test_an_example_runs(agent, name, told):
    path = f"{Path(agent[0]).parent}:{os.environ['PATH']}"
    ended = subprocess.run(
        [sys.executable, "-W", "error", HERE / f"examples/{name}.py"],
        capture_output=True, text=True, timeout=60, cwd=HERE.parent, env={**os.environ, "PATH": path},
    )
    assert ended.returncode == 0, ended.stderr
    assert told in ended.stdout
