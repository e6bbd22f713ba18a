/**
 * State of the agent, as reported by its frames.
 *
 * pi's interface has getters, and this host receives changes as frames. The agent sends a change
 * before the event that it causes, so that a getter in a handler returns the current value.
 */

import type { HostInitialize, HostState, JsonObject, Model } from "./protocol.js";

/** Entry of the session, in the form of the session file. */
export type Entry = JsonObject & { id: string; parentId: string | null; type: string };

/** Reported state of the agent and the session. */
export class Mirror {
  /** State of the agent, including all later changes. */
  state: HostState = {};
  /** Header of the session's file, if known. */
  header: JsonObject | null = null;
  /** Entries in the order of the file. */
  entries: Entry[] = [];
  /** Entry at the end of the current branch. */
  leafId: string | null = null;

  readonly #byId = new Map<string, Entry>();
  readonly #labels = new Map<string, string>();

  constructor(
    /** Introduction that the agent sent at the start. */
    readonly agent: HostInitialize,
  ) {}

  /** Merges changes into the state. */
  change(state: HostState): void {
    this.state = { ...this.state, ...state };
  }

  /**
   * Adds entries of the session. With `reset`, first removes all entries, because the agent has
   * changed to another session.
   */
  join(entries: readonly JsonObject[], leafId: string | null, reset: boolean, header?: JsonObject): void {
    if (reset) {
      this.entries = [];
      this.#byId.clear();
      this.#labels.clear();
      this.header = header ?? null;
    } else if (header !== undefined) {
      this.header = header;
    }
    for (const raw of entries) this.#add(raw as Entry);
    this.leafId = leafId;
  }

  /** Returns the entry with that id. */
  entry(id: string): Entry | undefined {
    return this.#byId.get(id);
  }

  /** Returns the label of the entry with that id. */
  label(id: string): string | undefined {
    return this.#labels.get(id);
  }

  /** Models that the agent offers. */
  get models(): readonly Model[] {
    return this.state.models ?? [];
  }

  #add(entry: Entry): void {
    this.entries.push(entry);
    this.#byId.set(entry.id, entry);
    if (entry.type !== "label" || typeof entry["targetId"] !== "string") return;
    const label = entry["label"];
    if (typeof label === "string" && label !== "") this.#labels.set(entry["targetId"], label);
    else this.#labels.delete(entry["targetId"]);
  }
}
