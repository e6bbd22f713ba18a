"""Has several handlers for one event, a flag, and a context that is used after its handler has returned."""

from agentese_extension import Extension

extension = Extension("order")
extension.flag("loud", "boolean", "Says more", False)
remembered = []


@extension.on("session_start")
def remember(event, context):
    remembered.append(context)


@extension.on("input")
def first(event, context):
    if event["text"] == "mine":
        return {"action": "handled"}
    if event["text"] == "remembered":
        context.notify(str(remembered[0].confirm("Remembered?", "")))
    return {"action": "transform", "text": "first"}


@extension.on("input")
def second(event, context):
    context.notify("second")
    return {"action": "transform", "text": "second"} if event["text"] == "both" else None


extension.run()
