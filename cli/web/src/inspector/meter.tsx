import { useMemo } from "preact/hooks";

import { bytes } from "../text/format.js";
import { costs } from "./analysis.js";
import type { Entry } from "./frames.js";

/**
 * Table of the number of bytes for each kind of frame, and of the bytes that repeat earlier
 * content.
 */
export function Meter({ entries, dialect }: { entries: readonly Entry[]; dialect: string }) {
  const all = useMemo(() => costs(entries, dialect), [entries, dialect]);
  const total = all.reduce((sum, cost) => sum + cost.bytes, 0);
  const saved = all.reduce((sum, cost) => sum + cost.saved, 0);
  return (
    <details class="meter">
      <summary>
        {bytes(total)} on the wire
        {saved > 0 && total > 0 && `; delta-only would have saved ${bytes(saved)} (${Math.round((saved / total) * 100)} %)`}
      </summary>
      <table>
        <thead>
          <tr>
            <th>Kind</th>
            <th>Frames</th>
            <th>Bytes</th>
            <th>Share</th>
          </tr>
        </thead>
        <tbody>
          {all.slice(0, 20).map((cost) => (
            <tr key={`${cost.direction} ${cost.name}`}>
              <td>
                <span aria-label={cost.direction} role="img">{cost.direction === "sent" ? "→" : "←"}</span> {cost.name}
              </td>
              <td>{cost.frames}</td>
              <td>{bytes(cost.bytes)}</td>
              <td>{total === 0 ? 0 : Math.round((cost.bytes / total) * 100)} %</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
