"""Several tasks or threads wait for the same run, call or stream."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.driver import LIMIT
from support.peer import playing

from agentese import pi

WAITERS = 4


def run_of_three(go):
    """Plays a run of three events. The second half follows once the event `go` is set,
    after all tasks have started to wait.
    """

    def script(peer):
        peer.answer(peer.receive())
        peer.send({"type": "agent_start"})
        assert go.wait(LIMIT)
        peer.send({"type": "turn_start"}, {"type": "agent_end", "messages": []})
        peer.serve_until_closed()

    return script


def test_fm_F41_tasks_iterate_and_wait_for_one_run():
    go = threading.Event()

    async def main(end):
        async with pi.AsyncClient.connect(end) as client:
            run = await client.prompt("hi")

            async def iterate():
                return [event.type async for event in run]

            iterating = [asyncio.create_task(iterate()) for _ in range(WAITERS)]
            results = [asyncio.create_task(run.result()) for _ in range(WAITERS)]
            gone = asyncio.create_task(run.result())
            # All tasks wait before the next event arrives.
            while sum(map(len, client._reactor._waiting.values())) < 2 * WAITERS + 1:
                await asyncio.sleep(0)
            gone.cancel()
            go.set()
            assert {result.ended_by for result in await asyncio.gather(*results)} == {"event"}
            seen = sum(await asyncio.gather(*iterating), [])
            assert len(seen) <= 3 and len(seen) == len(set(seen)), "no event comes twice"
            with pytest.raises(asyncio.CancelledError):
                await gone

    with playing(run_of_three(go)) as end:
        asyncio.run(asyncio.wait_for(main(end), LIMIT))


def test_fm_F41_threads_iterate_and_wait_for_one_run():
    for _ in range(20):
        go = threading.Event()
        with playing(run_of_three(go)) as end, pi.Client.connect(end) as client:
            run = client.prompt("hi")
            with ThreadPoolExecutor(2 * WAITERS) as pool:
                iterating = [pool.submit(lambda: [event.type for event in run]) for _ in range(WAITERS)]
                results = [pool.submit(run.result, timeout=None) for _ in range(WAITERS)]
                go.set()
                assert {waiting.result(LIMIT).ended_by for waiting in results} == {"event"}
                seen = sum((waiting.result(LIMIT) for waiting in iterating), [])
                assert len(seen) <= 3 and len(seen) == len(set(seen)), "no event comes twice"
