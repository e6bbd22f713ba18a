"""Delays its start until the file `go` exists in the working directory."""

import os
import time

from agentese_extension import Extension

while not os.path.exists("go"):
    time.sleep(0.01)

extension = Extension("late")


@extension.command("greet", "Greets")
def greet(args, context):
    context.notify(f"hello {args}", "info")


extension.run()
