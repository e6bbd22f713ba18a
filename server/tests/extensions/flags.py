"""Says which flags the command line gave."""

import json

from agentese_extension import Extension

extension = Extension("flags")
without = extension._offer


def with_flags():
    offer = without()
    offer["extensions"][0]["flags"] = [
        {"name": "plan", "description": "Begin in plan mode", "kind": "boolean", "default": False},
        {"name": "to", "description": "Where to", "kind": "string"},
    ]
    return offer


extension._offer = with_flags


@extension.on("session_start")
def started(event, context):
    context.notify(json.dumps(context.state()["flags"]))


extension.run()
