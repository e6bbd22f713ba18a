"""Reports the events of sessions, and fails at the start of a run."""

from agentese_extension import Extension

extension = Extension("sessions")


def says(name):
    @extension.on(name)
    def handler(event, context):
        before = "previousSessionFile" in event
        context.notify(f"{name} {event.get('reason')} {before}")


for event in ["session_start", "session_shutdown", "session_switch", "session_fork"]:
    says(event)


@extension.on("agent_start")
def begins(event, context):
    raise RuntimeError("agent_start failed")


@extension.on("context")
def asked(event, context):
    raise RuntimeError("context failed")


extension.run()
