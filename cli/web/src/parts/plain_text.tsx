import { useState } from "preact/hooks";

import { RevealedText } from "./revealed_text.jsx";

/** Number of characters that are displayed at first; a button shows the rest. */
const SHOWN = 50_000;

/** Plain text that replaces content that cannot be drawn. */
export function PlainText({ text, note }: { text: string; note: string }) {
  const [all, showAll] = useState(false);
  const isCut = !all && text.length > SHOWN;
  return (
    <div class="as-text">
      <p class="note">{note}</p>
      <pre tabIndex={0} role="region" aria-label="Plain text">
        <RevealedText text={isCut ? text.slice(0, SHOWN) : text} />
      </pre>
      {isCut && (
        <button type="button" class="link" onClick={() => showAll(true)}>
          Show all of {Math.round(text.length / 1000)}k characters
        </button>
      )}
    </div>
  );
}
