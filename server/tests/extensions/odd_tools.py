"""Registers tools with schemas that no model API accepts, and one tool with a valid schema."""

from agentese_extension import Extension

extension = Extension("odd_tools")


@extension.tool("words", "Takes words.", {"type": "array", "items": {"type": "string"}})
def words(params, context, update):
    return "never"


@extension.tool("fine", "Is fine.", {"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}]})
def fine(params, context, update):
    return f"fine {params}"


extension.run()
