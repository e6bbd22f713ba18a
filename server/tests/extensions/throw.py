"""Fails in every handler."""

from agentese_extension import Extension

extension = Extension("throw")


def fails(name):
    @extension.on(name)
    def handler(event, context):
        raise RuntimeError(f"{name} failed")


before = ["session_start", "input", "before_agent_start", "context", "tool_call", "tool_result"]
for event in [*before, "agent_start", "turn_end"]:
    fails(event)

extension.run()
