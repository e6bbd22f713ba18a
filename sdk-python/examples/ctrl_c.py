"""A small chat: Ctrl-C stops the current run, and Ctrl-C at the prompt ends the program."""

import sys

from agentese import RefusedError, pi

AGENT = ["agentese", "--mode", "rpc", "--provider", "scripted", "--no-session"]


def say(client: pi.Client, text: str) -> None:
    run = client.prompt(text)
    try:
        for piece in run.pieces():
            print(piece, end="", flush=True)
    except KeyboardInterrupt:
        run.abort()
        run.result(timeout=10)
        print("\n[stopped]", end="")
    print(flush=True)


# Ctrl-C goes to every process of the terminal's group; this agent has its own process group and is not interrupted.
with pi.Client.spawn(sys.argv[1:] or AGENT) as client:
    try:
        while text := input("> "):
            try:
                say(client, text)
            except RefusedError as error:
                print(f"rejected: {error.message}")
    except (KeyboardInterrupt, EOFError):
        print("bye")
