from agentese import pi

with pi.Client.spawn(["agentese", "--mode", "rpc", "--provider", "scripted", "--no-session"]) as client:
    for event in client.prompt("What is in this directory?"):
        match event:
            case pi.MessageUpdate(assistant_message_event=pi.TextDelta(delta=text)):
                print(text, end="", flush=True)
            case pi.MessageUpdate(assistant_message_event=pi.TextEnd()):
                print()
            case _:
                pass
