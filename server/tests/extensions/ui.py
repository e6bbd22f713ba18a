"""Has a command for every kind of dialog and notice."""

import json
import threading
import time

from agentese_extension import Extension, Withdrawal

extension = Extension("ui")


withdrawal = Withdrawal()


def say(context, name, value):
    context.notify(f"{name}={json.dumps(value)}", "info")


@extension.command("ask-select", "Ask with select")
def ask_select(args, context):
    say(context, "select", context.select("Pick a colour", ["red", "green", "blue"]))


@extension.command("ask-confirm", "Ask with confirm")
def ask_confirm(args, context):
    say(context, "confirm", context.confirm("Sure?", "This deletes things."))


@extension.command("ask-input", "Ask with input")
def ask_input(args, context):
    say(context, "input", context.input("Your name", "type here"))


@extension.command("ask-input-bare")
def ask_input_bare(args, context):
    say(context, "input", context.input("Bare"))


@extension.command("ask-editor", "Ask with editor")
def ask_editor(args, context):
    say(context, "editor", context.editor("Edit this", "line 1\nline 2"))


@extension.command("ask-editor-bare")
def ask_editor_bare(args, context):
    say(context, "editor", context.editor("Empty editor"))


@extension.command("ask-timeout", "Dialogs with a timeout")
def ask_timeout(args, context):
    limit = int(args or 300)

    def waits(name, ask):
        begun = time.monotonic()
        given = ask()
        # Measured here, at the waiting side: a default value before the time limit is reported under another
        # name.
        is_early = given in (None, False) and time.monotonic() - begun < limit / 1000
        say(context, f"{name}, too early," if is_early else name, given)

    waits("select", lambda: context.select("Timed select", ["a", "b"], timeout=limit))
    waits("confirm", lambda: context.confirm("Timed confirm", "quick", timeout=limit))
    waits("input", lambda: context.input("Timed input", timeout=limit))


@extension.command("ask-withdrawn")
def ask_withdrawn(args, context):
    say(context, "select", context.select("Withdrawn select", ["a"], withdrawal=withdrawal))
    say(context, "confirm", context.confirm("Never shown", "x", withdrawal=withdrawal))


@extension.command("withdraw", "Takes that one back")
def withdraw(args, context):
    withdrawal.withdraw()


@extension.command("ask-two")
def ask_two(args, context):
    answers = {}
    first = threading.Thread(target=lambda: answers.update(first=context.select("Two: first", ["a", "b"])))
    first.start()
    answers["second"] = context.confirm("Two: second", "really?")
    first.join()
    say(context, "both", [answers["first"], answers["second"]])


@extension.command("show-all", "All notices")
def show_all(args, context):
    context.notify("plain")
    context.notify("know", "info")
    context.notify("warn", "warning")
    context.notify("err", "error")
    context.set_status("k", "text")
    context.set_status("k")
    context.set_widget("w", ["l1", "l2"])
    context.set_widget("w", ["b"], "belowEditor")
    context.set_widget("w", ["a"], "aboveEditor")
    context.set_widget("w")
    context.set_title("title")
    context.set_editor_text("editor text")
    say(context, "hasUI", context.has_ui)
    say(context, "args", args)


@extension.command("boom", "Throws")
def boom(args, context):
    raise RuntimeError("boom from command")


@extension.command("boom-bare", "Throws without a word")
def boom_bare(args, context):
    raise LookupError


@extension.command("slow")
def slow(args, context):
    threading.Event().wait(600)


extension.run()
