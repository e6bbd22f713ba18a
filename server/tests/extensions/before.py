"""Opens a question before every operation of the user, and reports when the question is withdrawn."""

from agentese_extension import Extension

extension = Extension("before")


def ask(event, context):
    sure = context.confirm(event["type"], "Go on?")
    if context.cancelled.is_set():
        context.notify("taken back " + event["type"])
    return sure


@extension.on("input")
def words(event, context):
    if event["text"] != "quick" and not ask(event, context):
        return {"action": "transform", "text": "unsure " + event["text"]}


@extension.on("session_before_switch")
def before_switch(event, context):
    return {"cancel": not ask(event, context)}


@extension.on("session_before_fork")
def before_fork(event, context):
    return {"cancel": not ask(event, context)}


@extension.on("session_before_compact")
def before_compact(event, context):
    return {"cancel": not ask(event, context)}


extension.run()
