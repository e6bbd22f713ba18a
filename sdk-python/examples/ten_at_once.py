"""Prompts ten agents at once, prints the first three answers and cancels the other agents."""

import asyncio
import sys

from agentese import AgenteseError, pi

AGENT = ["agentese", "--mode", "rpc", "--provider", "scripted", "--no-session"]


async def ask(command: list[str], number: int) -> str:
    # Cancelling this task leaves the block, which ends the agent.
    async with pi.AsyncClient.spawn(command) as client:
        text = await client.ask("What is in this directory?", timeout=60)
        return f"{number}: {len(text)} characters"


async def main(command: list[str]) -> None:
    tasks = [asyncio.create_task(ask(command, number)) for number in range(10)]
    answers = 0
    for finished in asyncio.as_completed(tasks):
        try:
            print(await finished)
        except AgenteseError as error:
            print(f"failed: {error}")
        else:
            answers += 1
        if answers == 3:
            break
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    print(sum(isinstance(end, asyncio.CancelledError) for end in ended), "cancelled")


asyncio.run(main(sys.argv[1:] or AGENT))
