import { useEffect, useRef, useState } from "preact/hooks";

import { PlainText } from "./plain_text.jsx";
import { memo } from "./memo.js";
import { shouldYield } from "../text/bounded_markdown.js";
import { type Piece as Rendered, render } from "../text/markdown.js";

/** Maximum displayed length, in characters, of a text that waits for rendering. */
const PREVIEW_LENGTH = 5000;

/** Rendered Markdown text. While the text grows, only its last part is redrawn. */
export const Markdown = memo((props: { text: string; growing: boolean }) => <MarkdownBody {...props} />);

function MarkdownBody({ text, growing }: { text: string; growing: boolean }) {
  /** Error of a text that could not be rendered, and the text at that time. */
  const failed = useRef<{ readonly text: string; readonly reason: string } | undefined>(undefined);
  const drawn = useRef("");
  const [turn, again] = useState(0);
  // A text that grows or was already rendered is not shown as plain text again.
  const isWaiting = !growing && drawn.current === "" && shouldYield();
  useEffect(() => {
    const timer = isWaiting ? setTimeout(() => again(turn + 1)) : undefined;
    return () => clearTimeout(timer);
  }, [isWaiting, turn]);
  if (isWaiting) return <div class="markdown waits">{text.slice(0, PREVIEW_LENGTH)}</div>;
  drawn.current = text;
  const isStill = growing && failed.current !== undefined && text.startsWith(failed.current.text);
  let pieces: readonly Rendered[] = [];
  if (!isStill) {
    failed.current = undefined;
    try {
      pieces = render(text, growing);
    } catch (error) {
      failed.current = { text, reason: error instanceof Error ? error.message : String(error) };
    }
  }
  if (failed.current !== undefined) return <PlainText text={text} note={`Shown as plain text: ${failed.current.reason}.`} />;
  return (
    <div class="markdown">
      {pieces.map(({ key, html }) => (
        <Piece key={key} html={html} />
      ))}
    </div>
  );
}

const Piece = memo(({ html }: { html: string }) => <div class="piece" dangerouslySetInnerHTML={{ __html: html }} />);
