import { useState } from "preact/hooks";

import { Revealed } from "./hidden.jsx";

/** How much of a text is shown before somebody asks for all of it, in characters. */
const SHOWN = 50_000;

/** A text as it is, in place of what cannot be drawn of it. */
export function AsText({ text, note }: { text: string; note: string }) {
  const [all, showAll] = useState(false);
  const isCut = !all && text.length > SHOWN;
  return (
    <div class="as-text">
      <p class="note">{note}</p>
      <pre tabIndex={0} role="region" aria-label="The text as it is">
        <Revealed text={isCut ? text.slice(0, SHOWN) : text} />
      </pre>
      {isCut && (
        <button type="button" class="link" onClick={() => showAll(true)}>
          Show all of {Math.round(text.length / 1000)}k characters
        </button>
      )}
    </div>
  );
}
