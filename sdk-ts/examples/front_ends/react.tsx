// A chat with React: components whose messages did not change are not rendered again.
//   <Chat {...open(await connectWebSocket(address))} />
import { type FormEvent, memo, useSyncExternalStore } from "react";
import { type Transport, pi } from "agentese";
import { type Block, type Message, View } from "agentese/ui";

export function open(transport: Transport): { view: View; client: pi.Client } {
  const view = View.open("pi");
  return { view, client: new pi.Client(transport, { tap: { frame: (direction, line) => view[direction](line) } }) };
}

export function Chat({ view, client }: { view: View; client: pi.Client }) {
  const { messages, run } = useSyncExternalStore(view.subscribe, () => view.conversation);
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const message = String(new FormData(event.currentTarget).get("prompt"));
    event.currentTarget.reset();
    void client.prompt({ message });
  };
  return (
    <main data-run={run.state}>
      {messages.map((message) => message.role !== "tool" && <Shown key={message.key} message={message} />)}
      <form onSubmit={send}><input name="prompt" /></form>
    </main>
  );
}

const Shown = memo(({ message }: { message: Message }) => (
  <article className={message.role}>{message.blocks.map((block, place) => <Part key={place} block={block} />)}</article>
));

function Part({ block }: { block: Block }) {
  if (block.type === "tool") return <pre className="tool">{`${block.name}: ${block.state}`}</pre>;
  return block.type === "text" || block.type === "thinking" ? <p className={block.type}>{block.text}</p> : null;
}
