"""Prompts the user before every command."""

from agentese_extension import Extension

extension = Extension("guard")


@extension.on("tool_call")
def guard(event, context):
    if context.select("Allow: " + event["input"]["command"], ["Allow", "Block"]) != "Allow":
        return {"block": True, "reason": "Blocked by user"}


extension.run()
