"""Runs a case of `conformance/vectors/client.json` with the client for threads or the client for
asyncio.
"""

import asyncio
import base64
import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from support.driver import DIALECTS, LIMIT

from agentese import AgenteseError, DecodeError, NotInRevisionError, OtherDialectError, RefusedError, RunFailedError, SpawnError, TerminatedError, TimedOutError, is_withdrawn
from agentese.unknown import UnknownEvent

KINDS = {
    RefusedError: "refused", TerminatedError: "terminated", TimedOutError: "timed_out", SpawnError: "spawn",
    NotInRevisionError: "not_in_revision", OtherDialectError: "other_dialect", DecodeError: "decode",
}
OPTIONS = {"max_line": ("max_line", 1), "queue_bytes": ("queue_bytes", 1), "eof_grace_ms": ("eof_grace", 1000), "term_grace_ms": ("term_grace", 1000), "timeout_ms": ("timeout", 1000)}


class HeldQuestion:
    """Question whose handler waits until a step of the case answers it, even if no caller awaits
    the answer any more.
    """

    def __init__(self) -> None:
        self.answered = threading.Event()
        self.withdrawn = threading.Event()
        self.value: Any = None


class HeldQuestions:
    """Questions whose handlers wait for their answers."""

    def __init__(self) -> None:
        self.all: list[HeldQuestion] = []

    def new(self) -> HeldQuestion:
        held = HeldQuestion()
        self.all.append(held)
        return held

    def wait(self) -> Any:
        """Blocks the thread of a handler until its question is answered."""
        held = self.new()
        end = time.monotonic() + LIMIT
        while not held.answered.wait(0.005) and time.monotonic() < end:
            if is_withdrawn():
                held.withdrawn.set()
        return held.value

    async def wait_async(self) -> Any:
        """Waits in an asyncio handler until its question is answered; the task may be cancelled."""
        held = self.new()
        try:
            await asyncio.to_thread(held.answered.wait, LIMIT)
        except asyncio.CancelledError:
            held.withdrawn.set()
            await asyncio.to_thread(held.answered.wait, LIMIT)
        return held.value


class Threads:
    """Driver of the client for threads. Each wait runs on a thread of its own."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(256)

    def make(self, dialect: Any, how: str, target: Any, options: dict[str, Any]) -> Any:
        return getattr(dialect.Client, how)(target, **options)

    def dialogs(self, dialect: Any, answer: "Callable[[], None] | HeldQuestions") -> Any:
        class Handler(dialect.Dialogs):  # type: ignore[misc]
            def confirm(self, dialog: Any) -> Any:
                return answer.wait() if isinstance(answer, HeldQuestions) else answer()

        return Handler()

    def start(self, call: Callable[[], Any]) -> "Future[Any]":
        return self.pool.submit(call)

    def now(self, call: Callable[[], Any]) -> Any:
        return call()

    def take(self, events: Any, count: int) -> "Future[list[Any]]":
        return self.pool.submit(lambda: [next(events) for _ in range(count)])

    def all(self, run: Any) -> "Future[tuple[list[Any], AgenteseError | None]]":
        return self.pool.submit(lambda: read(run))

    def close(self) -> None:
        self.pool.shutdown()


def read(run: Any) -> tuple[list[Any], AgenteseError | None]:
    """Returns the events of a run, and its failure."""
    events = []
    try:
        for event in run:
            events.append(event)
    except RunFailedError as error:
        return events, error
    return events, None


class Loop:
    """Driver of the client for asyncio. Its loop runs on another thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def make(self, dialect: Any, how: str, target: Any, options: dict[str, Any]) -> Any:
        return self.now(lambda: getattr(dialect.AsyncClient, how)(target, **options))

    def dialogs(self, dialect: Any, answer: "Callable[[], None] | HeldQuestions") -> Any:
        class Handler(dialect.AsyncDialogs):  # type: ignore[misc]
            async def confirm(self, dialog: Any) -> Any:
                return await (answer.wait_async() if isinstance(answer, HeldQuestions) else asyncio.to_thread(answer))

        return Handler()

    def submit(self, work: Coroutine[Any, Any, Any]) -> "Future[Any]":
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def start(self, call: Callable[[], Any]) -> "Future[Any]":
        async def work() -> Any:
            given = call()
            return await given if hasattr(given, "__await__") else given

        return self.submit(work())

    def now(self, call: Callable[[], Any]) -> Any:
        async def work() -> Any:
            return call()

        return self.submit(work()).result(LIMIT)

    def take(self, events: Any, count: int) -> "Future[list[Any]]":
        async def work() -> list[Any]:
            taken: list[Any] = []
            async for event in events:
                taken.append(event)
                if len(taken) == count:
                    break
            return taken

        return self.submit(work())

    def all(self, run: Any) -> "Future[tuple[list[Any], AgenteseError | None]]":
        async def work() -> tuple[list[Any], AgenteseError | None]:
            events = []
            try:
                async for event in run:
                    events.append(event)
            except RunFailedError as error:
                return events, error
            return events, None

        return self.submit(work())

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(LIMIT)
        self.loop.close()


class CaseRunner:
    """Runner of one case. It plays the client, and also the agent if the case has no process."""

    def __init__(self, case: dict[str, Any], kind: type[Threads] | type[Loop]) -> None:
        self.case = case
        self.kind = kind
        self.dialect = DIALECTS[case["dialect"]]
        self.json_rpc = case["dialect"] == "opal"
        self.received: list[dict[str, Any]] = []
        self.ids: dict[str, str] = {}
        self.calls: dict[str, Future[Any]] = {}
        self.runs: dict[str, Any] = {}
        self.gone = False
        self.never = threading.Event()
        self.held_questions = HeldQuestions()
        self.earlier: list[Any] = []

    def play(self) -> None:
        with ExitStack() as stack:
            self.stack = stack
            self.driver = self.kind()
            stack.callback(self.driver.close)
            stack.callback(self.never.set)
            stack.callback(lambda: [held.answered.set() for held in self.held_questions.all])
            options = {OPTIONS[name][0]: value / OPTIONS[name][1] if OPTIONS[name][1] > 1 else value
                       for name, value in self.case.get("options", {}).items() if name in OPTIONS}
            options |= self.special_options()
            if "overflow" in self.case.get("options", {}):
                options["overflow"] = self.case["options"]["overflow"]
            if "spawn" in self.case:
                if "spawn_fails" in self.case:
                    error = raised(lambda: self.driver.make(self.dialect, "spawn", self.case["spawn"], options))
                    return fits(error, {"kind": self.case["spawn_fails"]})
                self.client = self.driver.make(self.dialect, "spawn", self.case["spawn"], options)
            else:
                self.connect(options)
            self.options = options
            self.process = self.client.process_id
            stack.callback(self.close_clients)
            for step in self.case["steps"]:
                what, given = next(iter(step.items()))
                getattr(self, f"do_{what}")(given, step)

    def connect(self, options: dict[str, Any]) -> None:
        ours, theirs = socket.socketpair()
        self.agent = self.stack.enter_context(theirs)
        self.stack.enter_context(ours)
        self.agent.settimeout(LIMIT)
        self.lines = self.stack.enter_context(self.agent.makefile("rb"))
        self.client = self.driver.make(self.dialect, "connect", ours, options)

    def special_options(self) -> dict[str, Any]:
        """Returns the options for a tap and a dialog handler that the case requests."""
        given, odd = self.case.get("options", {}), {}

        def fail(*_: Any) -> None:
            raise RuntimeError("on purpose")

        if given.get("tap") == "fails":
            odd["on_frame"] = fail
        if "dialogs" in given:
            how = given["dialogs"]
            answers = {"fails": fail, "never": self.never.wait, "held": self.held_questions}
            answer = (lambda: how["answers"]) if isinstance(how, dict) else answers[how]
            odd["dialogs"] = self.driver.dialogs(self.dialect, answer)
        return odd

    def close_clients(self) -> None:
        if not self.gone:
            self.gone = True
            for client in [self.client, *self.earlier]:
                self.driver.start(client.close).result(LIMIT)

    # Steps of the client.

    def do_call(self, command: str, step: dict[str, Any]) -> None:
        more = {"timeout": step["timeout_ms"] / 1000} if "timeout_ms" in step else {}
        if step.get("unlimited"):
            more = {"timeout": None}
        self.calls[step["as"]] = self.driver.start(lambda: self.client.request(command, step["params"], **more))

    def do_call_many(self, command: str, step: dict[str, Any]) -> None:
        calls = [self.driver.start(lambda: self.client.request(command, step["params"])) for _ in range(step["n"])]
        lines = [self.receive(lambda line: line["type"] == command) for _ in calls]
        assert all(line.items() >= step["params"].items() for line in lines), "a line was torn"
        assert len({line["id"] for line in lines}) == len(calls), "every call has an id of its own"
        for line in reversed(lines):
            self.send(json.dumps({"id": line["id"], "type": "response", "command": command, "success": True}))
        for call in calls:
            call.result(LIMIT)

    def do_run(self, command: str, step: dict[str, Any]) -> None:
        # For threads, the run exists once the agent has accepted the prompt.
        start = lambda: getattr(self.client, command.replace("/", "_"))(**step["params"])  # noqa: E731
        if self.kind is Threads:
            self.runs[step["as"]] = self.driver.start(start)
        else:
            made: Future[Any] = Future()
            made.set_result(self.driver.now(start))
            self.runs[step["as"]] = made

    def do_listen(self, _: Any, step: dict[str, Any]) -> None:
        self.events = self.driver.now(self.client.events)

    def do_answered(self, name: str, step: dict[str, Any]) -> None:
        data = self.calls[name].result(LIMIT)
        if "data" in step:
            assert data == step["data"]

    def do_failed(self, name: str, step: dict[str, Any]) -> None:
        fits(raised(lambda: self.calls[name].result(LIMIT)), step)

    def do_event(self, kind: str, step: dict[str, Any]) -> None:
        [event] = self.driver.take(self.events, 1).result(LIMIT)
        assert (event.type, event.raw) == (kind, step["raw"])

    def do_unknown(self, kind: str, step: dict[str, Any]) -> None:
        [event] = self.driver.take(self.events, 1).result(LIMIT)
        assert isinstance(event, UnknownEvent) and (event.tag, event.raw) == (kind, step["raw"])

    def do_events_of(self, kind: str, step: dict[str, Any]) -> None:
        events = self.driver.take(self.events, step["n"]).result(LIMIT)
        assert [event.type for event in events] == [kind] * step["n"]

    def do_run_failed(self, name: str, step: dict[str, Any]) -> None:
        def result() -> None:
            run = self.runs[name].result(LIMIT)
            self.driver.start(run.result).result(LIMIT)

        fits(raised(result), step)

    def do_ended(self, name: str, step: dict[str, Any]) -> None:
        run = self.runs[name].result(LIMIT)
        events, failed = self.driver.all(run).result(LIMIT)
        assert [event.type for event in events] == step["events"]
        result = self.driver.start(run.wait).result(LIMIT)
        assert result.ended_by == step["by"]
        assert result.confirmed == step.get("confirmed", result.confirmed)
        assert result.aborted == step.get("aborted", result.aborted)
        if "run_failure" not in step:
            assert failed is None and result.failure is None
            assert self.driver.start(run.result).result(LIMIT) == result
            return
        for error in [failed, result.failure, raised(lambda: self.driver.start(run.result).result(LIMIT))]:
            assert isinstance(error, RunFailedError)
            assert {"message": error.message, "code": error.code, "retryable": error.is_retryable} == step["run_failure"]

    def do_again(self, _: Any, step: dict[str, Any]) -> None:
        self.earlier.append(self.client)
        self.received.clear()
        if "spawn" in self.case:
            self.client = self.driver.now(self.client.respawn)
        else:
            self.connect(self.options)
        self.process = self.client.process_id

    def do_asked(self, count: int, step: dict[str, Any]) -> None:
        eventually(lambda: len(self.held_questions.all) >= count, "a question")

    def do_withdrawn(self, number: int, step: dict[str, Any]) -> None:
        assert self.held_questions.all[number].withdrawn.wait(LIMIT), "the handler was not told"

    def do_answer_held(self, number: int, step: dict[str, Any]) -> None:
        held = self.held_questions.all[number]
        [held.value] = step["members"].values()
        held.answered.set()

    def do_unheard(self, _: Any, step: dict[str, Any]) -> None:
        self.round_trip()
        assert self.received == []

    def do_over(self, code: int, step: dict[str, Any]) -> None:
        eventually(lambda: self.client.termination is not None, "the end")
        assert self.client.termination.exit_code == code

    def do_revision(self, revision: str, step: dict[str, Any]) -> None:
        assert self.client.revision == revision

    def do_dropped(self, count: int, step: dict[str, Any]) -> None:
        assert self.client.dropped_events == count

    def do_diagnostics(self, kinds: list[str], step: dict[str, Any]) -> None:
        self.round_trip()
        assert [kind for kind, _ in self.client.diagnostics()] == kinds

    def round_trip(self) -> None:
        # When this call is answered, the client has processed all earlier lines.
        call = self.driver.start(lambda: self.client.request("are_you_there"))
        line = self.receive(lambda line: line[self.name] == "are_you_there")
        if self.json_rpc:
            self.send(json.dumps({"jsonrpc": "2.0", "id": line["id"], "result": {}}))
        else:
            self.send(json.dumps({"id": line["id"], "type": "response", "command": "are_you_there", "success": True}))
        call.result(LIMIT)

    def do_let_go(self, _: Any, step: dict[str, Any]) -> None:
        self.close_clients()

    def do_kill_left(self, _: Any, step: dict[str, Any]) -> None:
        assert alive_in_group(self.process), "a process of the agent's group is left"
        os.killpg(self.process, signal.SIGKILL)

    def do_gone(self, _: Any, step: dict[str, Any]) -> None:
        eventually(lambda: not alive_in_group(self.process), "the end of its processes")

    # Steps of the agent.

    @property
    def name(self) -> str:
        return "method" if self.json_rpc else "type"

    def receive(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Returns the next line of the client that satisfies the condition. Other lines are kept
        for later calls.
        """
        while True:
            for at, line in enumerate(self.received):
                if wanted(line):
                    return self.received.pop(at)
            self.received.append(json.loads(self.lines.readline()))

    def write(self, data: bytes) -> None:
        # The client reads during the write, so the line may be longer than the socket's buffer.
        self.agent.sendall(data)

    def send(self, line: str) -> None:
        self.write(self.with_ids(line).encode() + b"\n")

    def with_ids(self, text: str) -> str:
        return re.sub(r"\$([a-z])\b", lambda found: self.ids.get(found[1], found[0]), text)

    def do_hear(self, command: str, step: dict[str, Any]) -> None:
        self.ids[step["as"]] = json.dumps(self.receive(lambda line: line.get(self.name) == command)["id"])

    def do_heard(self, frame: dict[str, Any], step: dict[str, Any]) -> None:
        self.receive(lambda line: line == frame)

    def do_say(self, lines: list[str], step: dict[str, Any]) -> None:
        for line in lines:
            self.send(line)

    def do_say_many(self, line: str, step: dict[str, Any]) -> None:
        self.write((self.with_ids(line) + "\n").encode() * step["n"])

    def do_say_split(self, line: str, step: dict[str, Any]) -> None:
        data = self.with_ids(line).encode() + b"\n"
        for at in range(0, len(data), step["size"]):
            self.write(data[at : at + step["size"]])

    def do_say_parts(self, parts: list[Any], step: dict[str, Any]) -> None:
        line = "".join(self.with_ids(p) if isinstance(p, str) else p["repeat"] * p["n"] for p in parts)
        self.write(line.encode() + (b"" if step.get("open") else b"\n"))

    def do_say_base64(self, data: str, step: dict[str, Any]) -> None:
        self.write(base64.b64decode(data))

    def do_say_unterminated(self, line: str, step: dict[str, Any]) -> None:
        self.write(self.with_ids(line).encode())

    def do_close(self, _: Any, step: dict[str, Any]) -> None:
        self.agent.shutdown(socket.SHUT_WR)


def eventually(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.002)


def raised(call: Callable[[], Any]) -> AgenteseError:
    try:
        call()
    except AgenteseError as error:
        return error
    raise AssertionError("it did not fail")


def fits(error: AgenteseError, expected: dict[str, Any]) -> None:
    """Fails unless the error is the one that the case expects."""
    assert next((KINDS[kind] for kind in type(error).__mro__ if kind in KINDS), None) == expected["kind"], repr(error)
    assert all(name in str(error) for name in expected.get("names", [])), str(error)
    assert error.is_retryable == expected.get("retryable", error.is_retryable)
    if isinstance(error, RefusedError):
        assert error.kind == expected.get("failure", error.kind)
        assert error.message == expected.get("reason", error.message)
        assert error.attributed == expected.get("attributed", error.attributed)
    if isinstance(error, TerminatedError):
        end = error.termination
        assert end.exit_code == expected.get("exit_code", end.exit_code)
        assert end.closed_by_us == expected.get("closed_by_us", end.closed_by_us)
        assert end.signal_name == expected.get("signal", end.signal_name)
        if "stderr" in expected:
            assert end.stderr_tail.rstrip().rsplit("\n", 1)[-1] == expected["stderr"]


def alive_in_group(group: int) -> list[str]:
    """Returns the ids of the live processes of a group. Zombies are omitted, because another
    process reaps them.
    """
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its = stat.read_text().rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue
        if int(its) == group and state not in "ZX":
            alive.append(stat.parent.name)
    return alive


def held() -> tuple[int, int]:
    """Returns the numbers of open descriptors and of threads of this process."""
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
