#!/usr/bin/env python3
"""Adds a custom tool: dice."""

import random

from agentese_extension import Extension

extension = Extension("dice")

PARAMETERS = {
    "type": "object",
    "properties": {
        "sides": {"type": "integer", "minimum": 2, "description": "How many sides each die has"},
        "count": {"type": "integer", "minimum": 1, "description": "How many dice; 1 by default"},
    },
    "required": ["sides"],
}


@extension.tool("dice", "Rolls dice and says what they show.", PARAMETERS, guidelines=["Chance comes from dice."])
def dice(params, context, update):
    rolls = []
    for _ in range(params.get("count", 1)):
        if context.cancelled.is_set():
            break
        rolls.append(random.randint(1, params["sides"]))
        update(f"{len(rolls)} rolled")
    text = ", ".join(map(str, rolls))
    return {"content": [{"type": "text", "text": text}], "details": {"rolls": rolls}}


extension.run()
