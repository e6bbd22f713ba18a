"""The asynchronous client: iteration, batches, and other libraries than asyncio."""

import asyncio
import functools
import json
import threading

import anyio
import pytest
import trio
from conftest import ROOT
from support.driver import BOTH, DIALECTS, LIMIT
from support.peer import STATE, playing

from agentese import RefusedError, TimedOutError, UsageError, pi

MODEL = json.loads((ROOT / "protocol/model.json").read_text())
EVENTS = ["agent_start", "turn_start", "turn_end", "agent_end"]


def frames():
    rest = {"turn_end": {"message": {"role": "user", "content": "", "timestamp": 1}, "toolResults": []}, "agent_end": {"messages": []}}
    return [{"type": name, **rest.get(name, {})} for name in EVENTS]


def one_run(peer):
    prompt = peer.receive()
    peer.answer(prompt)
    peer.send(*frames())
    peer.serve_until_closed()


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
def test_batches_have_all_events_in_order(kind):
    with playing(one_run) as end, kind().connect(pi, end) as client:
        run = client.call("prompt", "hi")
        if kind.name == "threads":
            batches = list(run.batches())
        else:

            async def read():
                first = await anext(run)
                return [[first], *[batch async for batch in run.batches()]]

            batches = client.run(read())
        assert all(batches) and [event.type for batch in batches for event in batch] == EVENTS


def two_and_two(peer):
    """Sends the first two events of a run before the first response to `get_state`, and the other
    events before the second one.
    """
    peer.answer(peer.receive())
    for half in (frames()[:2], frames()[2:]):
        state = peer.receive()
        peer.send(*half)
        peer.answer(state, data=STATE)
    peer.serve_until_closed()


def on_asyncio(script, work):
    """Runs `work` with a client and a run on asyncio. `script` plays the agent."""

    async def main(end):
        async with asyncio.timeout(LIMIT), pi.AsyncClient.connect(end) as client:
            run = client.prompt("hi")
            await run
            await client.get_state()
            await work(client, run)

    with playing(script) as end:
        asyncio.run(main(end))


def test_awaited_event_is_delivered_once():
    async def work(client, run):
        await client.get_state()
        first = await anext(run)
        # All events have arrived. Two further events are requested before the first one is read.
        second, third, dropped = anext(run), anext(run), anext(run)
        assert [first.type, (await third).type, (await second).type] == EVENTS[:3]
        for awaited in (second, third):
            with pytest.raises(RuntimeError, match="cannot reuse already awaited"):
                await awaited
        del dropped
        assert [event.type async for event in run] == EVENTS[3:]

    on_asyncio(two_and_two, work)


def test_event_of_a_cancelled_wait_is_kept_for_the_next_reader():
    async def work(client, run):
        seen = [(await anext(run)).type]
        with pytest.raises(TimeoutError):
            # A timeout of zero cancels the wait before its first step.
            await asyncio.wait_for(anext(run), 0)
        closed, failed = anext(run), anext(run)
        closed.close()
        with pytest.raises(ZeroDivisionError):
            failed.throw(ZeroDivisionError())
        for over in (closed, failed):
            with pytest.raises(RuntimeError, match="cannot reuse already awaited"):
                await over
        await client.get_state()
        assert [*seen, *[event.type async for event in run]] == EVENTS

    on_asyncio(two_and_two, work)


def test_reader_waits_again_after_another_reader_took_the_event():
    async def work(client, run):
        seen = [(await anext(run)).type]
        late, later, other = anext(run), anext(run), anext(run)
        seen.append((await other).type)
        waiting, given_up = asyncio.ensure_future(late), asyncio.ensure_future(later)
        await asyncio.sleep(0)
        assert not waiting.done()
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        with pytest.raises(RuntimeError, match="cannot reuse already awaited"):
            await later
        await client.get_state()
        seen.append((await waiting).type)
        assert [*seen, *[event.type async for event in run]] == EVENTS

    on_asyncio(two_and_two, work)


def text_run(peer):
    prompt = peer.receive()
    peer.answer(prompt)
    peer.send({"type": "agent_start"})
    for role, pieces in [("user", []), ("assistant", ["Let me ", "look."]), ("toolResult", []), ("assistant", ["Three ", "files."])]:
        peer.send({"type": "message_start", "message": {"role": role}})
        for piece in pieces:
            for kind in ["thinking_delta", "text_delta"]:
                inner = {"type": kind, "contentIndex": 0, "delta": piece if kind == "text_delta" else "hm"}
                peer.send({"type": "message_update", "message": {"role": role}, "assistantMessageEvent": inner})
    peer.send({"type": "agent_end", "messages": []})
    peer.serve_until_closed()


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
class TestText:
    def test_the_text_is_that_of_the_last_message(self, kind):
        with playing(text_run) as end, kind().connect(pi, end) as client:
            assert client.call("ask", "How many files?") == "Three files."

    def test_text_is_streamed_piece_by_piece(self, kind):
        with playing(text_run) as end, kind().connect(pi, end) as client:
            run = client.call("prompt", "How many files?")
            if kind.name == "threads":
                pieces = list(run.pieces())
            else:

                async def read():
                    return [piece async for piece in run.pieces()]

                pieces = client.run(read())
            assert pieces == ["Let me ", "look.", "Three ", "files."]

    def test_text_after_the_result_is_a_usage_error(self, kind):
        with playing(text_run) as end, kind().connect(pi, end) as client:
            run = client.call("prompt", "How many files?")
            if kind.name == "threads":
                run.result()
                text = run.text
            else:
                client.run(run.result())

                def text():
                    return client.run(run.text())

            with pytest.raises(UsageError, match=r"call text\(\) before result\(\)"):
                text()

    def test_rejected_or_timed_out_question_fails(self, kind):
        def script(peer):
            peer.reject(peer.receive(), "no model")
            peer.answer(peer.receive())
            peer.send({"type": "agent_start"})
            peer.serve_until_closed()

        with playing(script) as end, kind().connect(pi, end) as client:
            with pytest.raises(RefusedError, match="no model"):
                client.call("ask", "hi")
            with pytest.raises(TimedOutError, match=r"not over after 0\.05 s"):
                client.call("ask", "hi", timeout=0.05)


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_text_of_a_run_in_every_dialect(dialect):
    module = DIALECTS[dialect]
    table = module.Run._text
    model = next(model for model in MODEL["dialects"] if model["name"] == dialect)
    examples = {event["name"]: module.EVENTS[event["name"]].from_dict(event["example"]) for event in model["events"]}
    assert table.begins in examples and all(table.pieces(examples[table.event]))
    assert [name for name, event in examples.items() if table.pieces(event)] == [table.event]


def test_ask_returns_the_text_of_the_agent(agent):
    with pi.Client.spawn(agent, cwd=ROOT) as client:
        assert "Cargo.toml" in client.ask("What is in this directory?", timeout=LIMIT)


async def work_with(client_of, fail_after):
    """Runs the same program on any asynchronous library: a call, a run, a dialog, and a cancelled
    call.
    """
    answered = []

    class ConfirmHandler(pi.AsyncDialogs):
        async def confirm(self, dialog):
            await anyio.sleep(0)
            answered.append(dialog.title)
            return True

    async with client_of(dialogs=ConfirmHandler()) as client:
        assert (await client.get_state()).message_count == 7
        run = await client.prompt("hi")
        assert [event.type async for event in run] == EVENTS
        assert (await run.result(timeout=LIMIT)).last.type == "agent_end"
        with fail_after:
            await client.request("never_answered", timeout=None)
        assert (await client.get_state()).message_count == 7
        states = []

        async def ask():
            states.append((await client.get_state()).message_count)

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(ask)
        assert states == [7] * 10 and answered == ["Sure?"]


def script(peer):
    peer.answer(peer.receive(), data=STATE)
    peer.send({"type": "extension_ui_request", "id": "u", "method": "confirm", "title": "Sure?", "message": ""})
    heard = peer.receive()
    if heard["type"] == "prompt":
        peer.answer(heard)
        assert peer.receive()["confirmed"] is True
    else:
        assert heard["confirmed"] is True
        peer.answer(peer.receive())
    peer.send(*frames())
    while True:
        call = peer.receive()
        if call["type"] == "get_state":
            peer.answer(call, data=STATE)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_anyio_on(backend):
    with playing(script) as end:
        client_of = functools.partial(pi.AsyncClient.connect, end)

        async def main():
            with anyio.fail_after(20):
                await work_with(client_of, anyio.move_on_after(0.05))

        anyio.run(main, backend=backend)


class NoReaders(asyncio.SelectorEventLoop):
    """Loop that cannot watch descriptors, like asyncio's default loop on Windows."""

    def add_reader(self, fd, callback, *args):
        raise NotImplementedError


def test_a_loop_without_readers_is_woken_by_a_thread():
    with playing(script) as end:
        client_of = functools.partial(pi.AsyncClient.connect, end)

        async def main():
            async with asyncio.timeout(LIMIT):
                await work_with(client_of, anyio.move_on_after(0.05))

        with asyncio.Runner(loop_factory=NoReaders) as runner:
            runner.run(main())
    assert not [thread for thread in threading.enumerate() if thread.name == "agentese-watch"]


def test_trio_by_itself():
    with playing(script) as end:
        client_of = functools.partial(pi.AsyncClient.connect, end)

        async def main():
            with trio.fail_after(20):
                await work_with(client_of, trio.move_on_after(0.05))

        trio.run(main)


def test_error_outside_of_an_event_loop(agent):
    with pytest.raises(RuntimeError, match="no running event loop"):
        pi.AsyncClient.spawn(agent)


def test_concurrent_waits_for_one_run():
    async def main(end):
        async with pi.AsyncClient.connect(end) as client:
            run = client.prompt("hi")

            async def wait():
                return await run

            assert await asyncio.gather(*(wait() for _ in range(5))) == [run] * 5
            assert [event.type async for event in run] == EVENTS

    with playing(one_run) as end:
        asyncio.run(asyncio.wait_for(main(end), 20))
