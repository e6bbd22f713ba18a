"""Answers the agent's dialogs on the terminal; without a terminal the answer is no."""

import sys

from agentese import is_withdrawn, pi


class Terminal(pi.Dialogs):
    def confirm(self, dialog: pi.ConfirmDialog) -> bool | None:
        answer = self._ask(f"{dialog.title} {dialog.message} [y/N] ")
        return None if answer is None else answer.lower().startswith("y")

    def select(self, dialog: pi.SelectDialog) -> str | None:
        for number, option in enumerate(dialog.options, 1):
            print(f"{number}. {option}")
        answer = self._ask(f"{dialog.title} ")
        return dialog.options[int(answer) - 1] if answer and answer.isdecimal() else None

    def input(self, dialog: pi.InputDialog) -> str | None:
        return self._ask(f"{dialog.title} ")

    def notify(self, dialog: pi.NotifyNotice) -> None:
        print(f"({dialog.message})")

    def _ask(self, text: str) -> str | None:
        print(text, end="", flush=True)
        line = sys.stdin.readline()
        # The agent may have withdrawn the question in the meantime.
        return None if is_withdrawn() or not line else line.strip()


AGENT = ["agentese", "--mode", "rpc", "--provider", "scripted", "--no-session"]

with pi.Client.spawn(sys.argv[2:] or AGENT, dialogs=Terminal()) as client:
    print(client.ask(sys.argv[1] if len(sys.argv) > 1 else "What is in this directory?"))
