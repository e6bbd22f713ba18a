#!/usr/bin/env python3
"""Prompts the user before a dangerous command of the model."""

import re

from agentese_extension import Extension

extension = Extension("guard")

# An example, not a complete list of dangerous commands.
DANGEROUS = re.compile(
    r"\brm\b.*\s(-\w*[rRf]\w*|--recursive|--force)\b|\bsudo\b|\bmkfs\b|\bdd\b.*\bof="
    r"|\bgit\s+push\b.*\s(-f|--force)\b|>\s*/dev/sd"
)


@extension.on("tool_call")
def guard(event, context):
    if event["toolName"] != "bash" or not DANGEROUS.search(event["input"]["command"]):
        return None
    # Without an answer of the user, the command does not run.
    choice = context.select("Run this? " + event["input"]["command"], ["Run", "Block"], timeout=60_000)
    if choice != "Run":
        context.notify("Blocked: " + event["input"]["command"], "warning")
        return {"block": True, "reason": "The user does not want this command."}


extension.run()
