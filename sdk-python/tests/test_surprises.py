"""Regression tests for errors that users reported: a lost value, a call without an end, or a
mistake that was silently ignored.
"""

import asyncio
import copy
import gc
import multiprocessing
import os
import pickle
import threading
import time
from concurrent.futures import ProcessPoolExecutor

import pytest
from support.driver import BOTH, LIMIT
from support.peer import STATE, playing

from agentese import (
    AgenteseError,
    DecodeError,
    DetachedError,
    ForkedError,
    NotInRevisionError,
    RefusedError,
    SpawnError,
    StalledError,
    TerminatedError,
    Termination,
    TimedOutError,
    UsageError,
    pi,
)

TERMINATION = Termination(
    cause="exited", exit_code=3, signal=None, signal_name=None, stderr_tail="no key", last_frames=["{}"], pending=["req-1"],
    text="it exited with code 3",
)
FAILURES = [
    AgenteseError("all"), UsageError("wrong"), ForkedError("forked"), DetachedError("cut off", dropped=7),
    DecodeError("odd", raw="{}"), TimedOutError("late", command="get_state", after=0.5),
    StalledError("stuck", command="get_state", after=0.5), TerminatedError("over", termination=TERMINATION),
    SpawnError("no such program", program="/nowhere", kind="not_found", errno=2),
    NotInRevisionError("no", command="get_tree", revision="pi@0.55", known="pi@1.5"),
    RefusedError("no", command="prompt", message="no", code=-32602, data={"a": [1]}, attributed=True),
]


def fields(error):
    return type(error), str(error), {k: v for k, v in vars(error).items()}, getattr(error, "errno", None)


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_failures_can_be_pickled_and_copied(error):
    error.add_note("seen in a worker")
    for again in [pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)]:  # noqa: S301
        assert fields(again) == fields(error)


def fail_in_a_worker(_):
    raise TerminatedError("over", termination=TERMINATION)


def test_a_failure_comes_back_from_a_worker_process():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(TerminatedError) as told:
            pool.submit(fail_in_a_worker, 1).result(30)
    assert told.value.exit_code == 3 and told.value.termination == TERMINATION


@pytest.mark.parametrize("how", ["cancelled", "closed", "run"])
def test_unstarted_call_leaks_no_resources(how):
    """Several clients are used on one loop, which outlives them."""

    async def use(end):
        async with pi.AsyncClient.connect(end) as client:
            if how == "cancelled":
                task = asyncio.create_task(client.get_state())
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            elif how == "closed":
                client.get_state().close()
            else:
                client.prompt("nobody waits for this")
            assert (await client.get_state()).message_count == 7
        return client._reactor

    def held():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    with asyncio.Runner() as runner:
        before = None
        for cycle in range(6):
            with playing(lambda peer: peer.serve_until_closed()) as end:
                reactor = runner.run(asyncio.wait_for(use(end), 20))
            assert not reactor._waiting and not reactor._listening
            del reactor
            before = held() if cycle == 1 else before
        # The native core may close its descriptors a moment later.
        limit = time.monotonic() + LIMIT
        while held() > before and time.monotonic() < limit:
            time.sleep(0.01)
        assert held() <= before


def test_slow_dialog_does_not_block_the_others():
    """This test covers handlers for threads. Handlers for asyncio are separate tasks."""
    second = threading.Event()
    answers = []

    class Handler(pi.Dialogs):
        def confirm(self, dialog):
            if dialog.title == "first":
                return second.wait(LIMIT)
            second.set()
            return True

    def script(peer):
        for title in ["first", "second"]:
            peer.send({"type": "extension_ui_request", "id": title, "method": "confirm", "title": title, "message": ""})
        answers.extend(peer.receive() for _ in range(2))
        peer.serve_until_closed()

    with playing(script) as end, pi.Client.connect(end, dialogs=Handler()) as client:
        limit = time.monotonic() + LIMIT
        while len(answers) < 2 and time.monotonic() < limit:
            time.sleep(0.005)
        assert client.termination is None
    assert {answer["id"]: answer.get("confirmed") for answer in answers} == {"first": True, "second": True}


def test_notices_are_delivered_in_order():
    told = []

    class Handler(pi.Dialogs):
        def notify(self, dialog):
            told.append(dialog.message)

    def script(peer):
        for number in range(200):
            peer.send({"type": "extension_ui_request", "id": str(number), "method": "notify", "message": str(number)})
        peer.serve_until_closed()

    with playing(script) as end, pi.Client.connect(end, dialogs=Handler()):
        limit = time.monotonic() + LIMIT
        while len(told) < 200 and time.monotonic() < limit:
            time.sleep(0.005)
    assert told == [str(number) for number in range(200)]


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
class TestOptions:
    def test_frames_are_not_buffered_without_a_tap(self, kind):
        def script(peer):
            call = peer.receive()
            peer.send(*[{"type": "extension_error", "extensionPath": "", "event": "", "error": "x" * (1 << 20)}] * 20)
            peer.answer(call, data=STATE)
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(pi, end, on_frame=None) as client:
            assert client.call("get_state").message_count == 7
            assert client.client.dropped_frames == 0
            assert client.client._connection.frames() == []

    def test_a_misspelt_option_is_refused(self, kind):
        with playing(lambda peer: peer.serve_until_closed()) as end:
            with pytest.raises(TypeError, match="`timout`.*`timeout`"), kind().connect(pi, end, timout=3):
                pass
            with pytest.raises(TypeError, match="`cwd`"), kind().connect(pi, end, cwd="/"):
                pass
        with pytest.raises(TypeError, match="`evn`.*`env`"), kind().spawn(pi, ["true"], evn={}):
            pass

    def test_a_run_is_an_iterator(self, kind):
        def script(peer):
            prompt = peer.receive()
            peer.answer(prompt)
            peer.send({"type": "agent_start"}, {"type": "turn_start"}, {"type": "agent_end", "messages": []})
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(pi, end) as client:
            run = client.call("prompt", "hi")
            if kind.name == "threads":
                assert iter(run) is run or next(run).type == "agent_start"
            else:

                async def step():
                    assert aiter(run) is run
                    first = await anext(run)
                    # Unread events remain for the next reader.
                    return [first.type, *[event.type async for event in run]]

                assert client.run(step()) == ["agent_start", "turn_start", "agent_end"]
                assert client.run(anext(run, None)) is None


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
def test_dialog_past_its_own_timeout_is_withdrawn(kind):
    ended = threading.Event()

    class Threads(pi.Dialogs):
        def confirm(self, dialog):
            from agentese import is_withdrawn

            if is_withdrawn(10):
                ended.set()
            return True

    class Loop(pi.AsyncDialogs):
        async def confirm(self, dialog):
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                ended.set()
                raise

    def script(peer):
        peer.send({
            "type": "extension_ui_request", "id": "u", "method": "confirm", "title": "?", "message": "", "timeout": 50
        })
        peer.serve_until_closed()

    handler = Threads() if kind.name == "threads" else Loop()
    with playing(script) as end, kind().connect(pi, end, dialogs=handler) as client:
        if kind.name == "threads":
            assert ended.wait(LIMIT)
        else:
            client.run(asyncio.to_thread(ended.wait, 8))
            assert ended.is_set()
        assert client.client.termination is None
