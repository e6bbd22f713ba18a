import { useState } from "preact/hooks";
import type { Spec } from "agentese";

import { RevealedText } from "../parts/revealed_text.jsx";
import { highlighted } from "../text/highlight.js";
import { bytes, duration } from "../text/format.js";
import { causeOf, effectOf, mismatchOf } from "./analysis.js";
import type { Entry } from "./frames.js";

/** Panel with the content of one frame, its cause and its effects. */
export function Detail({ entry, entries, spec, onGo }: { entry: Entry; entries: readonly Entry[]; spec: Spec | undefined; onGo: (entry: Entry) => void }) {
  const [isRaw, raw] = useState(false);
  const cause = causeOf(entries, entry);
  const effect = effectOf(entries, entry, spec);
  const mismatch = mismatchOf(spec, entry, cause?.type);
  return (
    <section class="detail" aria-label="Selected frame">
      <header>
        <b>{entry.type || entry.kind}</b>
        <span>
          {entry.direction === "sent" ? (entry.isOtherTab ? "sent by another tab" : "sent") : entry.direction} at {duration(entry.t)}, {bytes(entry.bytes)}
        </span>
        <button type="button" aria-pressed={isRaw} onClick={() => raw(!isRaw)}>
          Raw
        </button>
      </header>
      {mismatch && (
        <p class="failure misfit">
          Does not fit the declaration{mismatch.path === "" ? "" : <> at <code>{mismatch.path}</code></>}: {mismatch.message}.
        </p>
      )}
      {cause && (
        <p>
          Answers{" "}
          <button type="button" class="link" onClick={() => onGo(cause)}>
            {cause.type} (#{cause.number})
          </button>{" "}
          after {duration(entry.t - cause.t)}.
        </p>
      )}
      {effect.answer && (
        <p>
          Answered by{" "}
          <button type="button" class="link" onClick={() => effect.answer && onGo(effect.answer)}>
            #{effect.answer.number}
          </button>{" "}
          after {duration(effect.took ?? 0)}.
        </p>
      )}
      {effect.events.length > 0 && (
        <p>
          {effect.events.length} events followed within {duration((effect.events.at(-1)?.t ?? entry.t) - entry.t)}: {countByType(effect.events)}.
        </p>
      )}
      <pre tabIndex={0} role="region" aria-label="Frame">
        {isRaw || entry.kind === "noise" || entry.kind === "note" ? <RevealedText text={entry.line} /> : <code dangerouslySetInnerHTML={{ __html: pretty(entry.line) }} />}
      </pre>
    </section>
  );
}

function pretty(line: string): string {
  try {
    return highlighted(JSON.stringify(JSON.parse(line), null, 2), "json");
  } catch {
    // The value is nested too deep to be formatted.
    return highlighted(line, undefined);
  }
}

/** Lists the types of events with their numbers, in descending order. */
function countByType(events: readonly Entry[]): string {
  const counts = new Map<string, number>();
  for (const { type } of events) counts.set(type, (counts.get(type) ?? 0) + 1);
  const sorted = [...counts].sort(([, one], [, other]) => other - one);
  return sorted.map(([type, count]) => `${count} ${type}`).join(", ");
}
