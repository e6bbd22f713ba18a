import { useState } from "preact/hooks";
import type { Block, Message as ConversationMessage } from "agentese/ui";

import { prettyJson } from "../text/json.js";
import { dollars, inputTokens, shortNumber } from "../text/format.js";
import { PlainText } from "./plain_text.jsx";
import { ErrorBoundary } from "./error_boundary.jsx";
import { RevealedText } from "./revealed_text.jsx";
import { Markdown } from "./markdown.jsx";
import { memo } from "./memo.js";
import { Picture } from "./picture.jsx";
import { Output, Tool } from "./tool.jsx";

const NAMES = { user: "You", assistant: "Agent", tool: "Tool", system: "System", summary: "Summary", shell: "Shell", note: "Note" } as const;

interface Props {
  readonly message: ConversationMessage;
  readonly onFork: ((message: ConversationMessage) => void) | undefined;
}

/**
 * Message of the conversation. It is redrawn only after a change. If it cannot be drawn, it is
 * displayed as plain text.
 */
export const Message = memo((props: Props) => (
  <ErrorBoundary of={props.message} fallback={() => <PlainMessage message={props.message} />}>
    <MessageBody {...props} />
  </ErrorBoundary>
));

/** Plain text of a message that cannot be drawn. */
function PlainMessage({ message }: { message: ConversationMessage }) {
  return (
    <article class="message note" aria-label="Message as plain text">
      <PlainText text={plainTextOf(message)} note="This message cannot be shown. Its text:" />
    </article>
  );
}

/** Returns the text of a message that may be malformed. */
function plainTextOf({ blocks }: ConversationMessage): string {
  const all: readonly unknown[] = Array.isArray(blocks) ? blocks : [blocks];
  const blockText = (block: unknown): string => {
    const text = (block as { readonly text?: unknown } | null | undefined)?.text;
    return typeof text === "string" ? text : prettyJson(block);
  };
  return all.map(blockText).join("\n\n");
}

function MessageBody({ message, onFork }: Props) {
  // The block of the tool call already shows the result.
  if (message.role === "tool" || message.hidden) return null;
  const isGrowing = message.state === "growing";
  return (
    <article class={`message ${message.role} ${message.state}${message.gone ? " gone" : ""}`} aria-label={NAMES[message.role]} aria-busy={isGrowing}>
      {message.role === "shell" && <ShellHead message={message} />}
      {message.role === "summary" && <p class="divider">The conversation was compacted</p>}
      {message.role === "note" && message.kind !== undefined && <p class="kind">{message.kind}</p>}
      {message.blocks.map((block, at) => (
        <BlockView key={at} block={block} role={message.role} growing={isGrowing && at === message.blocks.length - 1} />
      ))}
      {isGrowing && message.blocks.length === 0 && <p class="waiting-dots" aria-label="The agent is working" role="img" />}
      {message.error !== undefined && <p class="failure" role="alert">{errorText(message.error)}</p>}
      {message.state === "aborted" && <p class="failure">Stopped</p>}
      <MessageFooter message={message} onFork={onFork} />
    </article>
  );
}

/** Returns an error as text. Some agents send an object. */
function errorText(error: unknown): string {
  return typeof error === "string" ? error : prettyJson(error);
}

function ShellHead({ message }: { message: ConversationMessage }) {
  const code = message.exitCode;
  return (
    <p class="shell-head">
      <code>
        $ <RevealedText text={message.command ?? ""} />
      </code>
      {message.cancelled ? <span class="failure">stopped</span> : code !== 0 && code !== undefined && <span class="failure">exit code {code}</span>}
    </p>
  );
}

const BlockView = memo(({ block, role, growing }: { block: Block; role: ConversationMessage["role"]; growing: boolean }) => {
  switch (block.type) {
    case "text":
      if (role === "user") return <p class="said">{block.text}</p>;
      if (role === "shell") return <Output blocks={[block]} live={growing} path={undefined} />;
      if (role === "summary") return <Summary text={block.text} />;
      return <Markdown text={block.text} growing={growing} />;
    case "thinking":
      return <Thinking text={block.redacted ? "(hidden by the provider)" : block.text} growing={growing} />;
    case "image":
      return <Picture mimeType={block.mimeType} data={block.data} />;
    case "tool":
      return <Tool tool={block} />;
    case "data":
      return <pre class="shell" tabIndex={0}>{prettyJson(block.value)}</pre>;
  }
});

function Summary({ text }: { text: string }) {
  return (
    <details class="summary">
      <summary>Summary of the earlier conversation</summary>
      <Markdown text={text} growing={false} />
    </details>
  );
}

function Thinking({ text, growing }: { text: string; growing: boolean }) {
  const [chosen, choose] = useState<boolean | undefined>(undefined);
  const isOpen = chosen ?? growing;
  if (text === "" && !growing) return null;
  return (
    <details class="thinking" open={isOpen}>
      <summary
        onClick={(event) => {
          event.preventDefault();
          choose(!isOpen);
        }}
      >
        {growing ? "Thinking…" : "Thought"}
      </summary>
      {isOpen && <Markdown text={text} growing={growing} />}
    </details>
  );
}

function MessageFooter({ message, onFork }: { message: ConversationMessage; onFork: ((message: ConversationMessage) => void) | undefined }) {
  const { usage, role } = message;
  const canFork = onFork !== undefined && (role === "user" || role === "assistant") && message.state !== "growing";
  const parts = [
    message.model,
    usage && (usage.output ?? 0) > 0 && `${shortNumber(inputTokens(usage))} in, ${shortNumber(usage.output ?? 0)} out`,
    usage?.cost !== undefined && usage.cost > 0 && dollars(usage.cost),
  ].filter(Boolean);
  if (parts.length === 0 && !canFork) return null;
  return (
    <footer class="message-foot">
      {role === "assistant" && message.state !== "growing" && <span>{parts.join(" · ")}</span>}
      {canFork && (
        <button type="button" class="link" onClick={() => onFork(message)}>
          Fork here
        </button>
      )}
    </footer>
  );
}
