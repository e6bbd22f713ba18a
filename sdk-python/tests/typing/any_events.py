"""Types of an agent of any dialect, as a type checker infers them."""

from typing import assert_type

from agentese import opal, pi
from agentese.any import Agent, AsyncAgent, Event, RunResult, State, TextGrew, ToolEnded
from agentese.view import Conversation, Message


def shown(event: Event) -> str:
    match event:
        case TextGrew():
            return assert_type(event.text, str)
        case ToolEnded():
            return event.name + event.state
        case _:
            return event.type


def drive(agent: Agent) -> str:
    run = agent.prompt("Hello", when_busy="steer")
    for event in run:
        print(shown(assert_type(event, Event)))
    assert_type(agent.state(), State)
    assert_type(agent.conversation, Conversation)
    assert_type(agent.compact(), Message | None)
    typed = assert_type(agent.as_client(pi.Client), pi.Client | None)
    if typed is not None:
        typed.set_auto_retry(True)
    return assert_type(run.result(), RunResult).text


async def drive_async(agent: AsyncAgent) -> str:
    run = await agent.prompt("Hello")
    async for event in run:
        print(shown(assert_type(event, Event)))
    assert_type(await agent.state(), State)
    assert_type(agent.as_client(opal.AsyncClient), opal.AsyncClient | None)
    return (await run.result()).text
