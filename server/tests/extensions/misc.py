"""Uses several actions: messages, entries, sessions, a tool, user input."""

from agentese_extension import Extension

extension = Extension("misc")


@extension.command("say-custom", "custom message without a turn")
def say_custom(args, context):
    context.send_message("note", "custom text", details={"a": 1})


@extension.command("say-trigger")
def say_trigger(args, context):
    context.send_message("note", "please answer", trigger_turn=True)


@extension.command("say-later")
def say_later(args, context):
    context.send_message("note", "with the next prompt", deliver_as="nextTurn")


@extension.command("say-user")
def say_user(args, context):
    context.send_user_message(args or "from extension")


@extension.command("append")
def append(args, context):
    context.append_entry("my-state", {"n": 1})
    context.set_session_name("named")
    entries = context.entries()
    context.set_label(entries["leafId"], "here")
    context.notify(",".join(entry["type"] for entry in entries["entries"]))


@extension.command("wait-idle")
def wait_idle(args, context):
    context.notify("waiting")
    context.wait_for_idle()
    context.notify("idle")


@extension.command("fresh")
def fresh(args, context):
    context.notify(f"fresh {context.new_session()}")


@extension.command("look")
def look(args, context):
    context.set_active_tools(["read", "dice"])
    state = context.state()
    context.notify(f"idle={state['idle']} model={state['model']['id']} tools={','.join(state['activeTools'])}")


@extension.command("wrong")
def wrong(args, context):
    context.set_label("nowhere", "x")


@extension.command("bye")
def bye(args, context):
    context.shutdown()


@extension.on("session_shutdown")
def shutting_down(event, context):
    context.notify("shutting down")


@extension.on("input")
def words(event, context):
    if event["text"] == "ping":
        context.notify("pong source=" + event["source"])
        return {"action": "handled"}
    if event["text"] == "erase":
        return {"action": "transform", "text": " "}
    if event["text"].startswith("?"):
        return {"action": "transform", "text": "Briefly: " + event["text"][1:]}


@extension.tool(
    "dice",
    "Roll a die",
    {"type": "object", "properties": {"sides": {"type": "number"}}, "required": ["sides"]},
    label="Dice",
    snippet="rolls a die of any size",
    guidelines=["Roll dice with dice."],
)
def dice(params, context, update):
    update("rolling", {"step": 1})
    if params["sides"] == 0:
        raise ValueError("a die has sides")
    if params["sides"] < 0:
        if context.cancelled.wait(600):
            context.notify("the die is put away")
        return "nobody reads this"
    return {"content": [{"type": "text", "text": f"4 of {params['sides']}"}], "details": {"roll": 4}}


extension.run()
