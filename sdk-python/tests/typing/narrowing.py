"""Types that type checkers have to infer. mypy and pyright check this file; it is never run."""

from typing import assert_type

from agentese import opal, pi
from agentese.run import RunResult


def narrows(event: pi.Event) -> str:
    if event.type == "message_update":
        assert_type(event, pi.MessageUpdate)
        inside = event.assistant_message_event
        if inside.type == "text_delta":
            assert_type(inside, pi.TextDelta)
            return inside.delta
    match event:
        case pi.ToolExecutionStart(tool_name=name):
            return name
        case pi.UnknownEvent():
            return event.tag or ""
        case _:
            return event.raw


def calls(client: pi.Client) -> None:
    assert_type(client.get_state(), pi.SessionState)
    assert_type(client.prompt("hi", images=[{"type": "image", "data": "", "mimeType": "image/png"}]), pi.Run)
    for event in client.prompt("hi"):
        narrows(event)
    assert_type(client.prompt("hi").result(timeout=3), RunResult[pi.Event])
    client.set_thinking_level("high", timeout=None)


async def awaits(client: pi.AsyncClient, other: opal.AsyncClient) -> None:
    assert_type(await client.get_state(), pi.SessionState)
    run = await client.prompt("hi")
    assert_type(run, pi.AsyncRun)
    async for event in run:
        narrows(event)
    await run.steer("left")
    await other.opal_ping()


def dicts(state: pi.SessionState) -> int:
    return state.to_dict()["messageCount"]


def texts(client: pi.Client, run: pi.Run) -> None:
    assert_type(client.ask("hi", timeout=3), str)
    assert_type(run.text(), str)
    for piece in run.pieces():
        assert_type(piece, str)
    for batch in run.batches():
        assert_type(batch, list[pi.Event])


async def async_texts(client: pi.AsyncClient, run: pi.AsyncRun) -> None:
    assert_type(await client.ask("hi"), str)
    assert_type(await anext(run), pi.Event)
    async for piece in run.pieces():
        assert_type(piece, str)
    async for batch in run.batches():
        assert_type(batch, list[pi.Event])


def records() -> None:
    assert_type(pi.decode_event("{}"), pi.Event)
    assert_type(pi.AgentEnd(messages=[]), pi.AgentEnd)
    pi.AgentEnd(messages=[{"role": "user", "content": "hi", "timestamp": 1}])
    pi.AgentEnd()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def emits(call: pi.Call) -> None:
    await call.emit({"type": "agent_start"})
    await call.emit({"type": "agent_end", "messages": []})
    await call.emit(pi.AgentEnd(messages=[]))
    await call.emit({"type": "agent_strat"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await call.emit({"type": "agent_end"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await call.emit(opal.OpalAgentStart(session_id="s"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
