/** The session for reading, as extensions of pi look at it. */

import { dirname } from "node:path";

import type { Entry, Mirror } from "./mirror.js";
import type { JsonObject } from "./protocol.js";

/** An entry with those that follow it. */
export interface TreeNode {
  entry: Entry;
  children: TreeNode[];
  label?: string;
}

/** `ctx.sessionManager`: the session, read only. What is handed out are copies of lists, not of entries. */
export class SessionView {
  readonly #mirror: Mirror;

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
  }

  getCwd(): string {
    return this.#mirror.agent.cwd;
  }

  /** The folder of the session's file; empty where nothing is kept. */
  getSessionDir(): string {
    const file = this.getSessionFile();
    return file === undefined ? "" : dirname(file);
  }

  getSessionId(): string {
    return this.#mirror.state.sessionId ?? "";
  }

  getSessionFile(): string | undefined {
    return this.#mirror.state.sessionFile ?? undefined;
  }

  getSessionName(): string | undefined {
    return this.#mirror.state.sessionName ?? undefined;
  }

  getHeader(): JsonObject | null {
    return this.#mirror.header;
  }

  getEntries(): Entry[] {
    return [...this.#mirror.entries];
  }

  getEntry(id: string): Entry | undefined {
    return this.#mirror.entry(id);
  }

  getLabel(id: string): string | undefined {
    return this.#mirror.label(id);
  }

  getLeafId(): string | null {
    return this.#mirror.leafId;
  }

  getLeafEntry(): Entry | undefined {
    return this.#mirror.leafId === null ? undefined : this.#mirror.entry(this.#mirror.leafId);
  }

  /** The entries from the first one to that of the id, or to where the conversation is. */
  getBranch(fromId?: string): Entry[] {
    const branch: Entry[] = [];
    const seen = new Set<string>();
    let id = fromId ?? this.#mirror.leafId;
    while (id !== null && !seen.has(id)) {
      seen.add(id);
      const entry = this.#mirror.entry(id);
      if (entry === undefined) break;
      branch.push(entry);
      id = entry.parentId;
    }
    return branch.reverse();
  }

  /** The entries that follow nothing, each with what follows it, the older ones first. */
  getTree(): TreeNode[] {
    const nodes = new Map<string, TreeNode>();
    for (const entry of this.#mirror.entries) nodes.set(entry.id, this.#node(entry));
    const roots: TreeNode[] = [];
    for (const node of nodes.values()) {
      const parent = node.entry.parentId === null ? undefined : nodes.get(node.entry.parentId);
      (parent === undefined || parent === node ? roots : parent.children).push(node);
    }
    return roots;
  }

  #node(entry: Entry): TreeNode {
    const label = this.#mirror.label(entry.id);
    return { entry, children: [], ...(label === undefined ? {} : { label }) };
  }
}
