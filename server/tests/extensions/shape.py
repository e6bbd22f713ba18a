"""Changes every value that a hook may change."""

from agentese_extension import Extension

extension = Extension("shape")


@extension.on("before_agent_start")
def before(event, context):
    prompt = event["systemPrompt"] + "\nSay SHAPED."
    return {"systemPrompt": prompt, "message": {"customType": "hint", "content": "a hint", "display": False}}


@extension.on("context")
def seen(event, context):
    extra = {"role": "user", "content": "only the model sees this", "timestamp": 0}
    return {"messages": event["messages"] + [extra]}


@extension.on("tool_result")
def result(event, context):
    return {"content": [{"type": "text", "text": event["content"][0]["text"].upper()}], "details": {"shaped": True}}


@extension.on("session_before_compact")
def compact(event, context):
    kept = event["preparation"]["firstKeptEntryId"]
    return {"compaction": {"summary": "in short", "firstKeptEntryId": kept, "tokensBefore": 7}}


@extension.on("session_compact")
def compacted(event, context):
    context.notify(f"compacted {event['fromExtension']} {event['compactionEntry']['summary']}")


@extension.on("turn_end")
def turn_end(event, context):
    context.notify(f"turn {event['turnIndex']}")


extension.run()
