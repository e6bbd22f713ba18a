"""Reports the values of its command-line flags."""

import json

from agentese_extension import Extension

extension = Extension("flags")
extension.flag("plan", "boolean", "Begin in plan mode", default=False)
extension.flag("to", "string", "Where to")


@extension.on("session_start")
def started(event, context):
    context.notify(json.dumps(context.state()["flags"]))


extension.run()
