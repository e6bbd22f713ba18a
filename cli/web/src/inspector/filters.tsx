import type { Entry } from "./frames.js";

/** Filter for the displayed frames. */
export interface Filter {
  readonly search: string;
  readonly direction: "both" | "sent" | "received";
  readonly kind: "all" | Entry["kind"];
  readonly wrong: boolean;
}

export const ALL: Filter = { search: "", direction: "both", kind: "all", wrong: false };

/** Returns the entries that match a filter. `isWrong` detects a mismatch with the declaration. */
export function filterEntries(entries: readonly Entry[], filter: Filter, isWrong: (entry: Entry) => boolean): readonly Entry[] {
  const query = filter.search.toLowerCase();
  return entries.filter(
    (entry) =>
      (filter.direction === "both" || entry.direction === filter.direction) &&
      (filter.kind === "all" || entry.kind === filter.kind) &&
      (query === "" || entry.line.toLowerCase().includes(query)) &&
      (!filter.wrong || entry.failed === true || isWrong(entry)),
  );
}

const KINDS = ["all", "command", "answer", "event", "dialog", "reply", "note", "noise"] as const;
const DIRECTIONS = ["both", "sent", "received"] as const;

export function Filters({ filter, onFilter }: { filter: Filter; onFilter: (filter: Filter) => void }) {
  return (
    <div class="filters">
      <input
        type="search"
        aria-label="Search frames"
        placeholder="Search in frames"
        value={filter.search}
        onInput={(event) => onFilter({ ...filter, search: event.currentTarget.value })}
      />
      <select
        aria-label="Direction"
        value={filter.direction}
        onChange={(event) => onFilter({ ...filter, direction: event.currentTarget.value as Filter["direction"] })}
      >
        {DIRECTIONS.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select aria-label="Kind" value={filter.kind} onChange={(event) => onFilter({ ...filter, kind: event.currentTarget.value as Filter["kind"] })}>
        {KINDS.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <label>
        <input type="checkbox" checked={filter.wrong} onChange={(event) => onFilter({ ...filter, wrong: event.currentTarget.checked })} /> wrong
      </label>
    </div>
  );
}
