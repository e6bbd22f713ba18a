"""A unit test of a program that uses a client. The agent is a recording or a class of the test."""

import sys

from agentese import pi, testing


def summarise(client: pi.Client) -> str:
    """The part of the program that is under test."""
    return client.ask("Say hello").upper()


def test_with_a_recording(recording: str) -> None:
    with testing.replay(pi, recording) as agent, pi.Client.connect(agent) as client:
        for _ in range(2):
            assert client.get_state().message_count == 0
        assert summarise(client) == "HELLO, WORLD!"


class Greeter(pi.Service):
    async def prompt(self, params: pi.PromptParams, call: pi.Call) -> None:
        call.answer()
        await call.emit(pi.AgentStart())
        await call.emit({
            "type": "message_update", "message": {"role": "greeter"},
            "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "hi"},
        })
        await call.emit(pi.AgentEnd(messages=[]))


def test_with_an_agent_in_memory() -> None:
    with testing.memory_agent(Greeter()) as agent, pi.Client.connect(agent) as client:
        assert summarise(client) == "HI"


if __name__ == "__main__":
    test_with_a_recording(sys.argv[1])
    test_with_an_agent_in_memory()
    print("passed")
