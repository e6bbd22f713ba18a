"""The examples. Those in the READMEs equal the files in `examples`, and all of them run."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.driver import LIMIT

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parent
NAMES = ["ask", "ask_asyncio", "parrot"]
PROGRAMS = ["terminal", "streaming", "dialogs", "ten_at_once", "supervisor", "parrot", "replay_test", "sse", "ctrl_c"]


def blocks(readme):
    return re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)


def test_the_readmes_show_the_examples():
    examples = [(HERE / f"examples/{name}.py").read_text() for name in NAMES]
    assert blocks(HERE / "README.md")[: len(NAMES)] == examples
    assert blocks(ROOT / "README.md") == examples[:1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_short_and_in_the_readme(name):
    assert len((HERE / f"examples/{name}.py").read_text().splitlines()) < 40
    assert f"examples/{name}.py" in (HERE / "README.md").read_text()


def environment(agent):
    return {**os.environ, "PATH": f"{Path(agent[0]).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "extensions/python")}


def ran(agent, name, *arguments, given="", cwd=ROOT):
    """Runs an example to its end and returns its output."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", HERE / f"examples/{name}.py", *arguments],
        input=given, capture_output=True, text=True, timeout=LIMIT, cwd=cwd, env=environment(agent),
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@contextmanager
def running(agent, name, *arguments, cwd):
    """Starts an example. Yields its process, and a function that waits for a pattern in its output.
    """
    program = subprocess.Popen(
        [sys.executable, "-u", "-W", "error", HERE / f"examples/{name}.py", *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd, env=environment(agent),
        # A background shell may have set SIGINT to be ignored, and child processes inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    said = bytearray()

    def until(pattern):
        end = time.monotonic() + LIMIT
        while not (found := re.search(pattern, said.decode(errors="replace"), re.DOTALL)):
            assert time.monotonic() < end, f"{pattern} is not in {said.decode()!r}"
            if select.select([program.stdout], [], [], 0.1)[0]:
                more = os.read(program.stdout.fileno(), 65536)
                assert more, f"it ended; {pattern} is not in {said.decode()!r}"
                said.extend(more)
        del said[: len(said.decode()[: found.end()].encode())]
        return found

    try:
        yield program, until
    finally:
        program.kill()
        program.wait(LIMIT)
        program.stdout.close()
        program.stdin.close()


@pytest.mark.parametrize("name, told", [("ask", "Cargo.toml"), ("ask_asyncio", "event")])
def test_introductory_examples(agent, name, told):
    assert told in ran(agent, name)


def test_streaming(agent):
    told = ran(agent, "streaming")
    assert "Cargo.toml" in told and "\n[" in told and re.search(r"\n[1-9]\d* tool calls, [1-9]\d* tokens, ", told)


def test_dialogs(agent):
    extension = ["-e", str(ROOT / "extensions/examples/python/dialogs.py")]
    told = ran(agent, "dialogs", "/dialogs", *agent, *extension, given="2\ny\nmine\n")
    assert "2. green" in told and "It will be green. [y/N]" in told and "What is it called?" in told
    assert "(That is all.)" in told


def test_ten_at_once(agent):
    told = ran(agent, "ten_at_once")
    assert len(re.findall(r"^\d: \d+ characters$", told, re.MULTILINE)) == 3
    assert int(re.search(r"(\d+) cancelled", told)[1]) <= 7


def test_a_supervisor(agent, tmp_path):
    command = [*agent[:-1], "--session-dir", str(tmp_path)]
    with running(agent, "supervisor", *command, cwd=ROOT) as (program, until):
        program.stdin.write(b"What is in this directory?\n")
        program.stdin.flush()
        first = int(until(r"(\d+): '[^\n]*\n")[1])
        os.kill(first, signal.SIGKILL)
        program.stdin.write(b"And what else?\n")
        program.stdin.close()
        until("restarting: [^\n]*SIGKILL")
        assert int(until(r"\n(\d+): '[^\n]*\n")[1]) != first
        # The session contains the messages of both runs, so it was continued.
        assert int(until(r"(\d+) messages")[1]) >= 4
        assert program.wait(LIMIT) == 0


def test_a_replay(agent, tmp_path):
    lines = (ROOT / "conformance/transcripts/pi/prompt-text-anthropic.jsonl").read_text().splitlines(keepends=True)
    # The recording is cut after the prompt, because the example sends other commands afterwards.
    end = next(at for at, line in enumerate(lines) if "get_messages" in line)
    recording = tmp_path / "recording.jsonl"
    recording.write_text("".join(lines[:end]))
    assert ran(agent, "replay_test", recording) == "passed\n"


def test_a_bridge(agent):
    with running(agent, "sse", cwd=ROOT) as (_, until):
        address = until(r"(http://\S+)\n")[1]
        with urllib.request.urlopen(address, timeout=LIMIT) as answer:  # noqa: S310
            assert answer.headers["Content-Type"] == "text/event-stream"
            events = re.findall(r"event: (\w+)\ndata: (.*)\n\n", answer.read().decode())
    assert [events[0][0], events[-1][0]] == ["agent_start", "agent_end"]
    assert all(json.loads(data)["type"] == name for name, data in events)


def until_it_reads(program):
    """Waits until a program is in the system call that reads its stdin. A signal between the prompt and that call takes
    effect only after the next line."""
    end = time.monotonic() + LIMIT
    call = Path(f"/proc/{program.pid}/syscall")
    while call.exists() and call.read_text().split()[1:2] != ["0x0"]:
        assert time.monotonic() < end, call.read_text()
        time.sleep(0.01)


def test_the_terminal_draws_a_conversation(agent, tmp_path):
    script = tmp_path / "script.json"
    blocks = [{"text": "I look."}, {"tool": {"id": "c1", "name": "bash", "args": {"command": "echo seen"}}}]
    script.write_text(json.dumps({"responses": [{"blocks": blocks}, {"text": "That was it."}]}))
    told = ran(agent, "terminal", *agent, "--script", str(script), given="Look around.\n", cwd=tmp_path)
    lines = [line for line in told.splitlines() if line.strip()]
    assert lines[0] == "> Look around." and lines[-1] == "  That was it.", told
    assert any(line.startswith("✓ bash") for line in lines), told
    assert (ROOT / "docs/front-ends.md").read_text().count((HERE / "examples/terminal.py").read_text()) == 1


def test_ctrl_c(agent, tmp_path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"responses": [{"blocks": [{"text": ["Once upon ", "a time"]}], "hang_after": 1}, {"text": "The end."}]}))
    with running(agent, "ctrl_c", *agent, "--script", str(script), cwd=tmp_path) as (program, until):
        until("> ")
        program.stdin.write(b"Tell me a story.\n")
        program.stdin.flush()
        until("Once")
        program.send_signal(signal.SIGINT)
        until(r"\[stopped\]\n> ")
        program.stdin.write(b"And now?\n")
        program.stdin.flush()
        until(r"The end\.\n> ")
        until_it_reads(program)
        program.send_signal(signal.SIGINT)
        until("bye")
        assert program.wait(LIMIT) == 0
