import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Spec } from "agentese";

import { bytes } from "../text/format.js";
import { mismatchOf } from "./analysis.js";
import { Detail } from "./detail.jsx";
import { ALL, Filters, filterEntries } from "./filters.jsx";
import type { Entry } from "./frames.js";
import { Meter } from "./meter.jsx";
import { writeTranscript } from "./transcript.js";

interface Props {
  readonly entries: readonly Entry[];
  readonly spec: Spec | undefined;
  readonly dialect: string;
  readonly dropped?: number;
  /** Number of the selected entry while the user steps through a transcript. */
  readonly step?: number;
  readonly onChoose?: (entry: Entry) => void;
}

/** Height of a row in pixels, equal to the value in the style sheet. */
const ROW = 26;
/** Number of rows that are drawn beyond the visible ones. */
const OVERSCAN_ROWS = 12;

/** Table of frames, with the details of the selected one. */
export function FrameTable({ entries, spec, dialect, dropped = 0, step, onChoose }: Props) {
  const [filter, setFilter] = useState(ALL);
  const [chosen, choose] = useState<Entry | undefined>(undefined);
  const mismatches = useRef(new WeakMap<Entry, boolean>());
  const isWrong = (entry: Entry): boolean => {
    const known = mismatches.current.get(entry);
    if (known !== undefined) return known;
    // In JSON-RPC, a response does not contain the name of its command, so the command is
    // searched.
    const command = spec?.framing === "json-rpc" && entry.kind === "answer" ? entries.find((one) => one.kind === "command" && one.id === entry.id)?.type : undefined;
    const wrong = mismatchOf(spec, entry, command) !== undefined;
    mismatches.current.set(entry, wrong);
    return wrong;
  };
  const shown = useMemo(() => filterEntries(entries, filter, isWrong), [entries, filter]);
  const go = (entry: Entry): void => {
    choose(entry);
    onChoose?.(entry);
  };
  const now = step === undefined ? chosen : (entries.find(({ number }) => number === step) ?? chosen);
  return (
    <div class="wire">
      <Filters filter={filter} onFilter={setFilter} />
      <Meter entries={entries} dialect={dialect} />
      <p class="note">
        {shown.length === entries.length ? `${entries.length} frames` : `${shown.length} of ${entries.length} frames`}
        {dropped > 0 && `, ${dropped} older ones were dropped`}{" "}
        <button type="button" class="link" onClick={() => save(entries, dialect)}>
          Save as a transcript
        </button>
      </p>
      <Rows entries={shown} chosen={now} onChoose={go} isWrong={isWrong} />
      {now && <Detail entry={now} entries={entries} spec={spec} onGo={go} />}
    </div>
  );
}

function save(entries: readonly Entry[], dialect: string): void {
  const address = URL.createObjectURL(new Blob([writeTranscript(entries, dialect)], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${dialect}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

interface RowsProps {
  readonly entries: readonly Entry[];
  readonly chosen: Entry | undefined;
  readonly onChoose: (entry: Entry) => void;
  readonly isWrong: (entry: Entry) => boolean;
}

/** The visible rows of the table. */
function Rows({ entries, chosen, onChoose, isWrong }: RowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const atEnd = useRef(true);
  useEffect(() => {
    const { current } = box;
    if (!current) return undefined;
    const observer = new ResizeObserver(() => setHeight(current.clientHeight));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const { current } = box;
    if (current && atEnd.current && chosen === undefined) current.scrollTop = current.scrollHeight;
  }, [entries.length, chosen]);
  const chosenAt = chosen === undefined ? -1 : entries.indexOf(chosen);
  useEffect(() => {
    const { current } = box;
    if (!current || chosenAt < 0) return;
    const place = chosenAt * ROW;
    if (place < current.scrollTop) current.scrollTop = place;
    else if (place + ROW > current.scrollTop + current.clientHeight) current.scrollTop = place + ROW - current.clientHeight;
  }, [chosenAt]);
  const from = Math.max(0, Math.floor(top / ROW) - OVERSCAN_ROWS);
  const to = Math.min(entries.length, Math.ceil((top + height) / ROW) + OVERSCAN_ROWS);
  const move = (step: number): void => {
    const next = entries[Math.min(entries.length - 1, Math.max(0, chosenAt + step))];
    if (next !== undefined) onChoose(next);
  };
  return (
    <div
      class="rows"
      ref={box}
      tabIndex={0}
      role="listbox"
      aria-label="Frames"
      aria-activedescendant={chosen && chosenAt >= from && chosenAt < to ? `frame-${chosen.number}` : undefined}
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        setTop(scrollTop);
        atEnd.current = scrollHeight - scrollTop - clientHeight < ROW * 2;
      }}
      onKeyDown={(event) => {
        const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        move(step);
      }}
    >
      <div class="rows-space" style={{ height: `${entries.length * ROW}px` }}>
        {entries.slice(from, to).map((entry, at) => (
          <div
            key={entry.number}
            id={`frame-${entry.number}`}
            role="option"
            aria-selected={entry === chosen}
            class={`frame ${entry.direction} ${entry.kind}${entry.failed || isWrong(entry) ? " wrong" : ""}`}
            style={{ top: `${(from + at) * ROW}px` }}
            onClick={() => onChoose(entry)}
          >
            <span class="time">{(entry.t / 1000).toFixed(3)}</span>
            <span class="arrow">{entry.direction === "sent" ? "→" : entry.direction === "received" ? "←" : "·"}</span>
            <span class="type">
              {entry.type || entry.kind}
              {entry.kind === "answer" && entry.type !== "" && <i> answer</i>}
              {entry.isOtherTab && <i> other tab</i>}
            </span>
            <span class="size">{entry.bytes > 0 && bytes(entry.bytes)}</span>
          </div>
        ))}
      </div>
    </div>
  );
}
