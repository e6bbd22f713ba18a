"""Fails in every handler."""

from agentese_extension import Extension

extension = Extension("throw")


def fails(name):
    @extension.on(name)
    def handler(event, context):
        raise RuntimeError(f"{name} failed")


for event in ["session_start", "input", "before_agent_start", "context", "agent_start", "tool_call", "turn_end"]:
    fails(event)

extension.run()
