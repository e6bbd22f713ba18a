// A page that shows the work of an agent. The agent is a recording here; a WebSocket or a worker with two byte streams
// can replace it without another change.
import { UNKNOWN, match, pi } from "agentese";
import { memoryPair, replay } from "agentese/testing";

import session from "../../../conformance/transcripts/pi/tool-multi.jsonl?raw";

const conversation = element("#conversation");
const state = element("#state");
const button = element<HTMLButtonElement>("#play");
const tools = new Map<string, HTMLElement>();

button.addEventListener("click", () => void play());
if (location.hash === "#play") void play();

async function play(): Promise<void> {
  conversation.replaceChildren();
  tools.clear();
  button.disabled = true;
  show("playing");
  const speed = Number(new URLSearchParams(location.search).get("speed") ?? 1);
  try {
    const [ours, theirs] = memoryPair();
    void replay(pi.spec, session, theirs, { speed });
    await using client = new pi.Client(ours);
    await client.getState();
    const run = await client.prompt({ message: "three things" });
    for await (const event of run) render(event);
    const { toolCalls, tokens } = await client.getSessionStats();
    show("done", `done: ${toolCalls} tool calls, ${tokens.total} tokens`);
  } catch (error) {
    show("failed", String(error));
  } finally {
    button.disabled = false;
    button.textContent = "Play again";
  }
}

/** The current message. */
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
      begin(event.toolCallId, event.toolName, JSON.stringify(event.args));
      break;
    case "tool_execution_update":
      tools.get(event.toolCallId)?.querySelector("pre")?.replaceChildren(output(event.partialResult));
      break;
    case "tool_execution_end":
      end(event.toolCallId, output(event.result), event.isError);
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
    case "agent_settled":
    case "compaction_start":
    case "compaction_end":
    case "summarization_retry_scheduled":
    case "summarization_retry_attempt_start":
    case "summarization_retry_finished":
    case "queue_update":
    case "entry_appended":
    case "session_info_changed":
    case "thinking_level_changed":
    case "bash_execution_update":
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
        // A tool call is displayed only once the tool runs.
        toolCall: () => [],
        _: () => [],
      }),
    ),
  );
}

/** Adds a card for a running tool call. */
function begin(id: string, name: string, args: string): void {
  const card = append("tool running");
  const title = document.createElement("code");
  title.append(name, " ", Object.assign(document.createElement("span"), { textContent: args }));
  card.append(title, Object.assign(document.createElement("pre"), { textContent: "…" }));
  tools.set(id, card);
}

function end(id: string, text: string, failed: boolean): void {
  const card = tools.get(id);
  card?.querySelector("pre")?.replaceChildren(text);
  card?.classList.remove("running");
  card?.classList.toggle("failed", failed);
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

function element<E extends HTMLElement>(selector: string): E {
  const found = document.querySelector<E>(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
}

function show(name: string, text = name): void {
  state.dataset["state"] = name;
  state.textContent = text;
}
