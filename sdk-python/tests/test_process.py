"""Faults of the agent's process, for both clients."""

import os
import signal
import sys
import threading
import time

import pytest
from support.case_runner import alive_in_group
from support.driver import BOTH, LIMIT

from agentese import SpawnError, TerminatedError, pi

PYTHON = sys.executable


def gone(process):
    """Waits until a process has ended."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.005)
    return False


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
class TestProcess:
    def test_fm_F33_killed(self, kind):
        code = "import sys,os; print('last words', file=sys.stderr, flush=True); sys.stdin.readline(); os.kill(os.getpid(), 9)"
        with kind().spawn(pi, [PYTHON, "-c", code]) as client:
            process = client.client.process_id
            with pytest.raises(TerminatedError) as told:
                client.call("get_state")
            assert told.value.signal == signal.SIGKILL and told.value.termination.signal_name == "SIGKILL"
            assert "last words" in told.value.stderr_tail
            assert told.value.pending == ["req-1"]
            assert gone(process)
            with pytest.raises(TerminatedError):
                client.call("get_state")

    def test_fm_F34_exits_before_the_first_answer(self, kind):
        with kind().spawn(pi, [PYTHON, "-c", "import sys; sys.exit('no key')"]) as client:
            with pytest.raises(TerminatedError) as told:
                client.call("get_state")
            assert told.value.exit_code == 1 and "no key" in told.value.stderr_tail

    @pytest.mark.parametrize("program, how", [("/nowhere/pi", "not_found"), ("/etc/hostname", "not_executable"), ("", "not_found")])
    def test_fm_F35_cannot_be_started(self, kind, program, how):
        driver = kind()
        if kind.name == "asyncio":
            import asyncio

            async def spawn():
                pi.AsyncClient.spawn([program])

            start = lambda: asyncio.run(spawn())  # noqa: E731
        else:
            start = lambda: pi.Client.spawn([program])  # noqa: E731
        with pytest.raises(SpawnError) as told:
            start()
        assert told.value.kind == how and isinstance(told.value, OSError)
        assert driver

    def test_fm_F38_letting_go_ends_the_agent(self, kind, agent):
        with kind().spawn(pi, agent) as client:
            process = client.client.process_id
            assert client.call("get_state").message_count == 0
        assert gone(process)

    def test_fm_F39_a_wrapper_and_its_children_end(self, kind, agent):
        script = 'trap "" TERM INT HUP; "$@"; sleep 60'
        with kind().spawn(pi, ["sh", "-c", script, "sh", *agent], eof_grace=0.2, term_grace=0.2) as client:
            process = client.client.process_id
            assert client.call("get_state").message_count == 0
        assert gone(process)
        assert not alive_in_group(process)

    def test_fm_F41_from_many_threads_or_tasks(self, kind, agent):
        with kind().spawn(pi, agent) as client:
            if kind.name == "asyncio":
                import asyncio

                async def many():
                    states = await asyncio.gather(*(client.client.get_state() for _ in range(300)))
                    return [state.message_count for state in states]

                assert client.run(many()) == [0] * 300
            else:
                seen = []
                work = lambda: seen.extend(client.client.get_state().message_count for _ in range(50))  # noqa: E731
                threads = [threading.Thread(target=work) for _ in range(8)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join(20)
                assert seen == [0] * 400

    def test_fm_F132_started_again(self, kind, agent):
        with kind().spawn(pi, agent) as client:
            client.result(client.call("prompt", "hello"))
            assert client.call("get_state").message_count > 0
            async def again():
                return client.client.respawn()

            second = client.run(again()) if kind.name == "asyncio" else client.client.respawn()
            first, client.client = client.client, second
            try:
                assert client.call("get_state").message_count == 0
                assert second.process_id != first.process_id
            finally:
                client.call("close")
                client.client = first
