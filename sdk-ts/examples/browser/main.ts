// A page that shows what an agent does. The agent is a recording here; a WebSocket or a worker
// that gives two byte streams takes its place without another change.
import { UNKNOWN, match, pi } from "agentese";
import { memoryPair, replay } from "agentese/testing";

import session from "../../../conformance/transcripts/pi/tool-multi.jsonl?raw";

const conversation = element("#conversation");
const state = element("#state");
const button = element("#play");
const tools = new Map<string, HTMLElement>();

button.addEventListener("click", () => void play());
if (location.hash === "#play") void play();

async function play(): Promise<void> {
  conversation.replaceChildren();
  tools.clear();
  show("playing");
  const speed = Number(new URLSearchParams(location.search).get("speed") ?? 1);
  try {
    const [ours, theirs] = memoryPair();
    void replay(pi.spec, session, theirs, { speed });
    await using client = new pi.Client(ours);
    await client.getState();
    const run = await client.prompt({ message: "Look around." });
    for await (const event of run) render(event);
    const { toolCalls, tokens } = await client.getSessionStats();
    show("done", `done: ${toolCalls} tool calls, ${tokens.total} tokens`);
  } catch (error) {
    show("failed", String(error));
  }
}

/** The message that is being written. */
let current: HTMLElement | undefined;

function render(event: pi.Event | { type: typeof UNKNOWN; name: string }): void {
  switch (event.type) {
    case "message_start":
      current = messageElement(event.message);
      break;
    case "message_update":
    case "message_end":
      if (event.message?.role === "assistant") blocks(current, event.message.content);
      break;
    case "tool_execution_start":
      tool(event.toolCallId, `${event.toolName} ${JSON.stringify(event.args)}`, "…");
      break;
    case "tool_execution_update":
      tool(event.toolCallId, undefined, output(event.partialResult));
      break;
    case "tool_execution_end":
      tool(event.toolCallId, undefined, output(event.result)).classList.toggle("failed", event.isError);
      break;
    case "agent_start":
    case "agent_end":
    case "turn_start":
    case "turn_end":
    case "auto_compaction_start":
    case "auto_compaction_end":
    case "auto_retry_start":
    case "auto_retry_end":
    case "extension_error":
      break;
    case UNKNOWN:
      console.info(`an event that is younger than this page: ${event.name}`);
      break;
    default:
      // Compiles as long as every event has a case.
      event satisfies never;
  }
}

function messageElement(message: pi.AgentMessage): HTMLElement | undefined {
  if (message.role === "assistant") return append("assistant");
  if (message.role !== "user") return undefined;
  const { content } = message;
  append("user").textContent = typeof content === "string" ? content : output({ content });
  return undefined;
}

function blocks(parent: HTMLElement | undefined, content: pi.AssistantBlock[]): void {
  parent?.replaceChildren(
    ...content.flatMap((block) =>
      match(block, {
        text: (block) => [box("text", block.text)],
        thinking: (block) => [box("thinking", block.thinking)],
        // Shown when it runs.
        toolCall: () => [],
        _: () => [],
      }),
    ),
  );
}

function tool(id: string, title: string | undefined, text: string): HTMLElement {
  const known = tools.get(id);
  const card = known ?? append("tool");
  tools.set(id, card);
  if (title !== undefined) card.replaceChildren(Object.assign(document.createElement("code"), { textContent: title }), document.createElement("pre"));
  card.querySelector("pre")?.replaceChildren(text);
  return card;
}

function output(result: { content: pi.InputBlock[] }): string {
  return result.content.map((block) => match(block, { text: (block) => block.text, image: () => "[image]", _: () => "" })).join("");
}

function append(kind: string): HTMLElement {
  const made = box(kind, "");
  conversation.append(made);
  made.scrollIntoView({ block: "end" });
  return made;
}

function box(kind: string, text: string): HTMLElement {
  return Object.assign(document.createElement("div"), { className: kind, textContent: text });
}

function element(selector: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
}

function show(name: string, text = name): void {
  state.dataset["state"] = name;
  state.textContent = text;
}
