#!/usr/bin/env python3
"""Adds the command `/dialogs`, which shows every kind of dialog and notice."""

from agentese_extension import Extension

extension = Extension("dialogs")


@extension.command("dialogs", "Shows every kind of dialog and notice")
def dialogs(args, context):
    colour = context.select("Which colour?", ["red", "green", "blue"], timeout=30_000)
    sure = context.confirm("Sure?", f"It will be {colour}.")
    name = context.input("What is it called?", "a name")
    text = context.editor("Describe it", "line 1\nline 2")
    context.set_status("dialogs", "asked")
    context.set_widget("dialogs", [f"colour: {colour}", f"sure: {'yes' if sure else 'no'}", f"name: {name}"], "belowEditor")
    context.set_title("dialogs")
    context.set_editor_text(text or "")
    context.notify("That is all.", "info")
    context.set_status("dialogs")
    context.set_widget("dialogs")


extension.run()
