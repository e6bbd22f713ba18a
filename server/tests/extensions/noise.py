"""Prints text that is not a frame."""

import sys

from agentese_extension import Extension

extension = Extension("noise")
print("loading noise")


@extension.on("turn_start")
def turn(event, context):
    # In one piece, because the command may write concurrently.
    print("noise in turn " + str({"a": 1}))
    print("to stderr", file=sys.stderr)


@extension.command("noise")
def noise(args, context):
    sys.stdout.write("no newline ")
    context.notify("said")


extension.run()
