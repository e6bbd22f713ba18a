"""A chat in a terminal. After each frame it draws the new parts of the conversation."""

import sys

from agentese import pi
from agentese.view import Message, View

AGENT = ["agentese", "--mode", "rpc", "--provider", "scripted", "--no-session"]
MARKS = {"coming": "…", "running": "…", "done": "✓", "failed": "✗", "skipped": "–"}


def drawn(message: Message) -> list[str]:
    lines: list[str] = []
    for block in message.blocks:
        if block.type == "tool":
            lines.append(f"{MARKS[block.state or 'coming']} {block.name} {block.arguments or ''}")
        elif block.type == "text":
            lines.append(f"{'>' if message.role == 'user' else ' '} {block.text}")
    return lines


def main(command: list[str]) -> None:
    view = View("pi")
    done = 0

    def show(direction: str, line: str) -> None:
        nonlocal done
        conversation = view.sent(line) if direction == "sent" else view.received(line)
        finished = [message for message in conversation.messages if message.role != "tool" and message.state != "growing"]
        for message in finished[done:] if not conversation.run.working else []:
            print(*drawn(message), sep="\n", flush=True)
        done = done if conversation.run.working else len(finished)

    with pi.Client.spawn(command, on_frame=show) as client:
        for line in sys.stdin:
            client.prompt(line.strip()).result()


main(sys.argv[1:] or AGENT)
