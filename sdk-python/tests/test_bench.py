"""Results of `tools/bench/clients` if a client is not installed or fails."""

import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "bench" / "clients"


@pytest.fixture(scope="module")
def script() -> Any:
    loader = SourceFileLoader("bench_clients", str(SCRIPT))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def run(script: Any, code: str) -> Any:
    call: Callable[..., Any] = script.run
    return call("ours", [sys.executable, "-c", code], "frames", 3, "no module")


def test_client_report_is_parsed(script: Any) -> None:
    assert run(script, "print('[3, 9, 0.5, 0.25]')") == ((3, 9), 0.5, 0.25)


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("import sys; print('broken', file=sys.stderr); sys.exit(4)", "ours: exit code 4\nbroken\n"),
        ("import sys; print('[3, 9, 0.5, 0.25]'); sys.exit('late')", "ours: exit code 1\nlate\n"),
        ("print('nothing')", "ours: it printed 'nothing\\n'\n"),
    ],
)
def test_a_client_that_fails_ends_the_run(script: Any, code: str, wanted: str) -> None:
    with pytest.raises(SystemExit) as error:
        run(script, code)
    assert str(error.value) == wanted


def test_only_missing_clients_are_skipped(script: Any, tmp_path: Path) -> None:
    reader = tmp_path / "reading.js"
    assert script.missing([sys.executable, str(reader), "agentese"], "no module") == str(reader)
    reader.write_text("")
    assert script.missing([sys.executable, str(reader), "agentese"], "no module") is None
    assert script.missing([sys.executable, str(reader), "RpcClient"], "no module") == "no module"
    assert script.missing(["agentese-no-such-program"], "no module") == "agentese-no-such-program"
