/** Conversion of messages to the types that models support, and to text for a summary. */

/** Message of a session; extensions may pass malformed ones. */
type Message = Record<string, unknown> & { role?: unknown; content?: unknown; timestamp?: unknown };
type Block = Record<string, unknown> & { type?: unknown; text?: unknown };

/** Converts message types that models do not support into user messages. */
export function convertToLlm(messages: readonly Message[]): Message[] {
  return messages.flatMap((message) => {
    const userMessage = (content: unknown): Message[] => [{ role: "user", content, timestamp: message.timestamp }];
    switch (message.role) {
      case "user":
      case "assistant":
      case "toolResult":
        return [message];
      case "custom":
        return userMessage(typeof message.content === "string" ? textBlocks(message.content) : message.content);
      case "bashExecution":
        return message["excludeFromContext"] === true ? [] : userMessage(textBlocks(commandText(message)));
      case "branchSummary":
      case "compactionSummary":
        return userMessage(textBlocks(`Summary of what was said before:\n\n${String(message["summary"])}`));
      default:
        return [];
    }
  });
}

function textBlocks(text: string): Block[] {
  return [{ type: "text", text }];
}

function commandText(message: Message): string {
  const output = String(message["output"] ?? "");
  return `Ran \`${String(message["command"])}\`\n${output === "" ? "(no output)" : `\`\`\`\n${output}\n\`\`\``}`;
}

/** Returns the conversation as text, with a paragraph for each message or call. */
export function serializeConversation(messages: readonly Message[]): string {
  return messages
    .flatMap((message) => {
      switch (message.role) {
        case "user":
          return paragraph("User", textIn(message));
        case "assistant":
          return assistant(message);
        case "toolResult":
          return paragraph("Tool result", textIn(message));
        default:
          return [];
      }
    })
    .join("\n\n");
}

function assistant(message: Message): string[] {
  const blocks = blocksOf(message);
  const thinking = blocks.filter(({ type }) => type === "thinking").map((block) => String(block["thinking"]));
  const text = blocks.filter(({ type }) => type === "text").map((block) => String(block.text));
  const calls = blocks.filter(({ type }) => type === "toolCall").map(callText);
  return [
    ...paragraph("Assistant thinking", thinking.join("\n")),
    ...paragraph("Assistant", text.join("\n")),
    ...paragraph("Assistant tool calls", calls.join("; ")),
  ];
}

function callText(block: Block): string {
  const given = Object.entries((block["arguments"] ?? {}) as object);
  return `${String(block["name"])}(${given.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")})`;
}

function paragraph(who: string, text: string): string[] {
  return text === "" ? [] : [`[${who}]: ${text}`];
}

function textIn(message: Message): string {
  if (typeof message.content === "string") return message.content;
  return blocksOf(message)
    .filter(({ type }) => type === "text")
    .map((block) => String(block.text))
    .join("");
}

function blocksOf(message: Message): Block[] {
  return Array.isArray(message.content) ? (message.content as Block[]) : [];
}
