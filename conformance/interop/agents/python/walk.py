"""Walks every command of a dialect with the Python client: `walk.py DIALECT PROGRAM ARGUMENTS…`."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agentese import TerminatedError, omp, pi
from report import Report

dialect, *command = sys.argv[1:]
module: Any = {"pi": pi, "omp": omp}[dialect]
report = Report()
step = report.step
answered: list[str] = []
asked = threading.Event()


class DialogHandler(module.Dialogs):
    def select(self, dialog):
        return dialog.options[1]

    def confirm(self, dialog):
        return True

    def input(self, dialog):
        return "Ann"

    def editor(self, dialog):
        return f"{dialog.prefill}, edited"

    def set_status(self, dialog):
        if dialog.status_key == "walk":
            answered.append("status")

    def set_widget(self, dialog):
        if dialog.widget_key == "walk":
            answered.append("widget")

    def set_title(self, dialog):
        if dialog.title == "asked":
            answered.append("title")

    def set_editor_text(self, dialog):
        answered.append("editor text")

    def notify(self, dialog):
        answered.append(dialog.message)
        asked.set()


client = module.Client.spawn(command, dialogs=DialogHandler(), timeout=60)
failures: list[str] = []
failed = threading.Event()


def listen(events: Iterable[Any]) -> None:
    try:
        for event in events:
            report.event(event)
            if event.type == "extension_error":
                failures.append(event.error)
                failed.set()
    except TerminatedError:
        pass


listening = threading.Thread(target=listen, args=(client.events(),))
listening.start()


def prompt_and(message: str, when: Callable[[Any], bool], act: Callable[[Any], None]) -> list[Any]:
    """Sends a prompt, calls `act` at the first event for which `when` is true, and follows the run
    to its end.
    """
    run = client.prompt(message)
    events = []
    done = False
    for event in run:
        events.append(event)
        if not done and when(event):
            done = True
            act(run)
    return events


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Polls a condition until it is true, for ten seconds."""
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise TimeoutError(what)


def is_delta(event: Any) -> bool:
    return event.type == "message_update" and event.assistant_message_event.type == "text_delta"


def taken(events: Iterable[Any]) -> str:
    """Returns the texts of the user messages in the events of a run."""
    contents = [e.message.content for e in events if e.type == "message_start" and e.message.role == "user"]
    texts = [c if isinstance(c, str) else "".join(block.text for block in c if block.type == "text") for c in contents]
    return ", ".join(texts)


def roles() -> str:
    return ", ".join(dict.fromkeys(message.role for message in client.get_messages().messages))


def bool_text(value: bool) -> str:
    return str(value).lower()


state = client.get_state
step("get_state", state, lambda s: f"{s.model.provider}/{s.model.id}")
session_file = state().session_file
step("get_available_models", client.get_available_models, lambda a: ", ".join(model.id for model in a.models))
step("set_model", lambda: client.set_model(provider="loopback", model_id="two"), lambda model: model.id)
step("cycle_model", client.cycle_model, lambda cycled: cycled.model.id)
step("set_thinking_level", lambda: client.set_thinking_level("low"), lambda _: state().thinking_level)
step("cycle_thinking_level", client.cycle_thinking_level, lambda cycled: cycled.level)
step("set_steering_mode", lambda: client.set_steering_mode("all"), lambda _: state().steering_mode)
step("set_follow_up_mode", lambda: client.set_follow_up_mode("all"), lambda _: state().follow_up_mode)
if dialect == "omp":
    step("set_interrupt_mode", lambda: client.set_interrupt_mode("wait"), lambda _: state().interrupt_mode)
step("set_auto_compaction", lambda: client.set_auto_compaction(False), lambda _: bool_text(state().auto_compaction_enabled))
step("set_auto_retry", lambda: client.set_auto_retry(True), lambda _: "taken")
step("set_session_name", lambda: client.set_session_name("a walk"), lambda _: state().session_name)
step("bash", lambda: client.bash("echo hello"), lambda done: f"{done.output.strip()}, exit code {done.exit_code}")
with ThreadPoolExecutor() as pool:
    sleeping = pool.submit(client.bash, "touch sleeping; sleep 3")
    eventually(Path("sleeping").exists, "the command runs")
    step("abort_bash", client.abort_bash, lambda _: f"cancelled: {bool_text(sleeping.result().cancelled)}")

step(
    "prompt",
    lambda: client.prompt("use a tool"),
    lambda run: "ran " + ", ".join(event.tool_name for event in run if event.type == "tool_execution_end"),
)
step("get_last_assistant_text", client.get_last_assistant_text, lambda last: last.text)


def steer_and_follow_up(run: Any) -> None:
    run.steer("turn left")
    step("follow_up", lambda: run.follow_up("and then"), lambda _: "queued")


step(
    "steer",
    lambda: prompt_and("speak slowly", is_delta, steer_and_follow_up),
    lambda events: f"the run took {taken(events)}",
)
step(
    "abort",
    lambda: [e for e in prompt_and("speak slowly", is_delta, lambda run: run.abort()) if e.type == "message_end"],
    lambda ends: f"the answer is {ends[-1].message.stop_reason}",
)
step(
    "abort_retry",
    lambda: prompt_and("be overloaded", lambda e: e.type == "auto_retry_start", lambda _: client.abort_retry()),
    lambda events: next(
        f"retry {e.attempt} given up: {bool_text(not e.success)}" for e in events if e.type == "auto_retry_end"
    ),
)
if dialect == "omp":

    def interrupt() -> list[Any]:
        second: list[Any] = []
        prompt_and("speak slowly", is_delta, lambda _: second.append(client.abort_and_prompt("something else")))
        return list(second[0])

    step("abort_and_prompt", interrupt, lambda events: f"the second run took {taken(events)}")

step("get_session_stats", client.get_session_stats, lambda stats: f"{stats.tool_calls} tool call")
step("get_messages", client.get_messages, lambda _: roles())
page = Path.cwd() / "walk.html"
step(
    "export_html",
    lambda: client.export_html(output_path=str(page)),
    lambda _: "a page" if "<html" in page.read_text().lower() else "no page",
)
step("compact", lambda: client.compact(custom_instructions="Be brief."), lambda done: "a summary" if done.summary else "no summary")
if dialect == "omp":
    points, branch, names = client.get_branch_messages, client.branch, ("get_branch_messages", "branch")
else:
    step("get_commands", client.get_commands, lambda known: ", ".join(sorted(each.name for each in known.commands)))
    points, branch, names = client.get_fork_messages, client.fork, ("get_fork_messages", "fork")
first = points().messages[0]
step(names[0], points, lambda found: found.messages[0].text)
step(names[1], lambda: branch(first.entry_id), lambda made: f"{made.text}, cancelled: {bool_text(made.cancelled)}")
step("new_session", client.new_session, lambda new: f"{state().message_count} messages, cancelled: {bool_text(new.cancelled)}")
step("switch_session", lambda: client.switch_session(session_file), lambda _: state().session_name)


def prompt_and_wait(message: str, event: threading.Event) -> None:
    list(client.prompt(message))
    if not event.wait(60):
        raise TimeoutError(message)


if os.environ.get("WALK_EXTENSIONS"):
    step("(dialogs)", lambda: prompt_and_wait("/ask", asked), lambda _: ", ".join(answered))
    step("(extension error)", lambda: prompt_and_wait("/boom", failed), lambda _: failures[0])
if dialect == "omp":
    step(
        "(rule)",
        lambda: list(client.prompt("say the word")),
        lambda events: "triggered: " + ", ".join(rule.name for e in events if e.type == "ttsr_triggered" for rule in e.rules),
    )
    step(
        "(reminders)",
        lambda: list(client.prompt("leave things open")),
        lambda events: "attempts: " + ", ".join(str(e.attempt) for e in events if e.type == "todo_reminder"),
    )
client.set_auto_compaction(True)
step(
    "(automatic compaction)",
    lambda: list(client.prompt("fill the context")),
    lambda events: next("a summary" if e.result else "none" for e in events if e.type == "auto_compaction_end"),
)

diagnostics = client.diagnostics()
client.close()
listening.join(60)
report.end(diagnostics)
