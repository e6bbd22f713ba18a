from agentese import serve
from agentese.pi import Call, PromptParams, Service
from agentese.shapes import LastAssistantText


class Parrot(Service):
    said: str | None = None

    async def prompt(self, params: PromptParams, call: Call) -> None:
        call.answer()
        await call.emit({"type": "agent_start"})
        self.said = params.message
        await call.emit({"type": "agent_end", "messages": []})

    async def get_last_assistant_text(self, call: Call) -> LastAssistantText:
        return {"text": self.said}


serve(Parrot())
