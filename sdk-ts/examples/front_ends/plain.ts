// A chat without a library: a message is drawn again only when it is another object than before.
//   chat(document.body, await connectWebSocket(address))
import { type Transport, pi } from "agentese";
import { type Block, type Message, View } from "agentese/ui";

export function chat(page: HTMLElement, transport: Transport): pi.Client {
  const view = View.open("pi");
  const client = new pi.Client(transport, { tap: { frame: (direction, line) => view[direction](line) } });
  const list = page.appendChild(document.createElement("main"));
  const input = page.appendChild(document.createElement("input"));
  const drawn = new Map<string, { message: Message; element: HTMLElement }>();
  view.subscribe(() => {
    const { messages, run } = view.conversation;
    list.dataset["run"] = run.state;
    for (const message of messages) {
      const known = drawn.get(message.key);
      if (known?.message === message || message.role === "tool") continue;
      const element = known?.element ?? list.appendChild(document.createElement("article"));
      element.className = message.role;
      element.replaceChildren(...message.blocks.map(draw));
      drawn.set(message.key, { message, element });
    }
  });
  input.onchange = () => void client.prompt({ message: input.value }).then(() => (input.value = ""));
  return client;
}

function draw(block: Block): HTMLElement {
  const element = document.createElement(block.type === "tool" ? "pre" : "p");
  element.className = block.type;
  if (block.type === "text" || block.type === "thinking") element.textContent = block.text;
  if (block.type === "tool") element.textContent = `${block.name}: ${block.state}`;
  return element;
}
