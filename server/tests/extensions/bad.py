"""Fails during loading."""

from agentese_extension import Extension

extension = Extension("bad")


@extension.command("never")
def never(args, context):
    context.notify("never")


raise RuntimeError("load failed")
