#!/usr/bin/env python3
"""Shows a status line with the number of turns and the current activity."""

from agentese_extension import Extension

extension = Extension("status-line")
turns = 0


@extension.on("session_start")
def ready(event, context):
    context.set_status("turns", "ready")


@extension.on("turn_start")
def begins(event, context):
    global turns
    turns += 1
    context.set_status("turns", f"turn {turns}")


@extension.on("tool_execution_start")
def tool(event, context):
    context.set_status("turns", f"turn {turns}: {event['toolName']}")


@extension.on("agent_end")
def ends(event, context):
    context.set_status("turns", f"{turns} turns, done")


extension.run()
