/** Original frames of a connection, in both directions. */

import type { Spec } from "agentese";

import { type Entry, classify } from "./frames.js";

/** Maximum size of the stored frames in bytes; the oldest ones are dropped. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Recorder of the frames on the wire. */
export class Recorder {
  entries: readonly Entry[] = [];
  dialect = "pi";
  spec: Spec | undefined;
  /** Number of dropped frames. */
  dropped = 0;
  #bytes = 0;
  #pending: Entry[] = [];
  #count = 0;
  #listeners = new Set<() => void>();
  #isFlushScheduled = false;
  readonly #startedAt = Date.now();

  /** Sets the dialect of the frames. */
  setDialect(dialect: string, spec: Spec): void {
    this.dialect = dialect;
    this.spec = spec;
  }

  add(direction: "sent" | "received", line: string, isOtherTab = false): void {
    this.#put({ ...classify(this.spec, direction, line), number: ++this.#count, t: Date.now() - this.#startedAt, isOtherTab });
  }

  /** Records an event that is not a frame, for example the end of the agent. */
  note(text: string): void {
    this.#put({
      number: ++this.#count,
      t: Date.now() - this.#startedAt,
      direction: "note",
      line: text,
      bytes: 0,
      kind: "note",
      type: text,
      id: undefined,
      isOtherTab: false,
    });
  }

  #put(entry: Entry): void {
    this.#pending.push(entry);
    this.#bytes += entry.bytes;
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setTimeout(() => this.#flush(), 100);
  }

  #flush(): void {
    this.#isFlushScheduled = false;
    const all = [...this.entries, ...this.#pending.splice(0)];
    let gone = 0;
    while (this.#bytes > MAX_BYTES && gone < all.length - 1) this.#bytes -= all[gone++]?.bytes ?? 0;
    this.dropped += gone;
    this.entries = gone === 0 ? all : all.slice(gone);
    for (const listener of this.#listeners) listener();
  }

  clear(): void {
    this.entries = [];
    this.#pending = [];
    this.#bytes = 0;
    for (const listener of this.#listeners) listener();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };
}
