"""Restarts an agent on the same session after the end of its process, and sends the prompt again."""

import sys
import time

from agentese import TerminatedError, pi

AGENT = ["agentese", "--mode", "rpc", "--provider", "scripted"]


class Supervisor:
    def __init__(self, command: list[str], restarts: int = 3) -> None:
        self.command, self.restarts = command, restarts
        self.client = pi.Client.spawn(command)
        self.session = self.client.get_state().session_file

    def ask(self, text: str) -> str:
        for attempt in range(self.restarts + 1):
            try:
                return self.client.ask(text)
            except TerminatedError as error:
                if attempt == self.restarts:
                    raise
                print(f"restarting: {error.termination}")
                time.sleep(2**attempt / 10)
                self.client.close()
                resume = ["--session", self.session] if self.session else []
                self.client = pi.Client.spawn([*self.command, *resume])
        raise AssertionError("the loop returns or raises")


supervisor = Supervisor(sys.argv[1:] or AGENT)
try:
    for line in sys.stdin:
        answer = supervisor.ask(line.strip())
        print(f"{supervisor.client.process_id}: {answer[:60]!r}", flush=True)
    print(supervisor.client.get_state().message_count, "messages")
finally:
    supervisor.client.close()
