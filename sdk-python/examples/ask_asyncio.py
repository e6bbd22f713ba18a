import asyncio

from agentese import pi


class AutoConfirm(pi.AsyncDialogs):
    async def confirm(self, dialog: pi.ConfirmDialog) -> bool | None:
        return dialog.title != "Delete everything?"


async def main() -> None:
    command = ["agentese", "--mode", "rpc", "--provider", "scripted", "--no-session"]
    async with pi.AsyncClient.spawn(command, dialogs=AutoConfirm(), timeout=20) as client:
        state = await client.get_state()
        print(state.model.name if state.model else "no model", state.message_count)
        run = client.prompt("What is in this directory?")
        async for event in run:
            if event.type == "tool_execution_start":
                await run.steer("Be brief.")
                break
        print((await run.result()).ended_by)


asyncio.run(main())
