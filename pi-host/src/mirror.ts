/**
 * What the agent is and does, as far as it told.
 *
 * pi's interface has getters where this host has frames. The agent sends what changes before the
 * frame that follows from it, so that a getter in a handler sees what the event is about.
 */

import type { HostInitialize, HostState, JsonObject, Model } from "./protocol.js";

/** An entry of the session, as it stands in the file. */
export type Entry = JsonObject & { id: string; parentId: string | null; type: string };

/** What the agent told of itself and of the session. */
export class Mirror {
  /** The state, with everything that has changed since. */
  state: HostState = {};
  /** The head of the session's file, where one is known. */
  header: JsonObject | null = null;
  /** The entries in the order of the file. */
  entries: Entry[] = [];
  /** The entry at which the conversation is. */
  leafId: string | null = null;

  readonly #byId = new Map<string, Entry>();
  readonly #labels = new Map<string, string>();

  constructor(
    /** How the agent introduced itself. */
    readonly agent: HostInitialize,
  ) {}

  /** Takes what changed in the state. */
  change(state: HostState): void {
    this.state = { ...this.state, ...state };
  }

  /** Takes entries that joined the session, or all of another session. */
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

  /** The entry of that id. */
  entry(id: string): Entry | undefined {
    return this.#byId.get(id);
  }

  /** The label of the entry of that id. */
  label(id: string): string | undefined {
    return this.#labels.get(id);
  }

  /** The models that can be used. */
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
