"""Cancels every cancellable operation."""

from agentese_extension import Extension

extension = Extension("cancel")


@extension.on("session_before_switch")
def before_switch(event, context):
    target = event.get("targetSessionFile")
    if not context.confirm(f"Switch ({event['reason']})?", f"target={target}"):
        return {"cancel": True}


@extension.on("session_before_fork")
def before_fork(event, context):
    return {"cancel": True}


@extension.on("session_before_compact")
def before_compact(event, context):
    context.notify(f"{len(event['preparation']['messagesToSummarize'])} messages, {len(event['branchEntries'])} entries")
    return {"cancel": True}


@extension.on("session_switch")
def switched(event, context):
    context.notify("switched " + event["reason"])


extension.run()
