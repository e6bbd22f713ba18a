"""Streams the agent's text, prints the names of the tools that run, and reports the cost."""

import asyncio
import sys

from agentese import pi

AGENT = ["agentese", "--mode", "rpc", "--provider", "scripted", "--no-session"]


async def main(command: list[str], question: str) -> None:
    async with pi.AsyncClient.spawn(command) as client:
        async for event in client.prompt(question):
            match event:
                case pi.MessageUpdate(assistant_message_event=pi.TextDelta(delta=text)):
                    print(text, end="", flush=True)
                case pi.ToolExecutionStart(tool_name=tool, args=args):
                    print(f"\n[{tool} {dict(args)}]")
                case pi.ToolExecutionEnd(tool_name=tool, is_error=True):
                    print(f"[{tool} failed]")
                case _:
                    pass
        stats = await client.get_session_stats()
        print(f"\n{stats.tool_calls} tool calls, {stats.tokens.total} tokens, {stats.cost:.4f} dollars")


asyncio.run(main(sys.argv[1:] or AGENT, "What is in this directory?"))
