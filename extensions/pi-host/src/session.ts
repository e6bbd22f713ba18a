/** Read-only session in the form of pi's interface. */

import { dirname } from "node:path";

import type { Entry, Mirror } from "./mirror.js";
import type { JsonObject } from "./protocol.js";

/** Entry with its children. */
export interface TreeNode {
  entry: Entry;
  children: TreeNode[];
  label?: string;
}

/** `ctx.sessionManager`: the session, read-only. Lists are copied, entries are not. */
export class SessionView {
  readonly #mirror: Mirror;

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
  }

  getCwd(): string {
    return this.#mirror.agent.cwd;
  }

  /** Returns the folder of the session's file; empty without a file. */
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

  /** Returns the entries from the root to the given entry, or to the end of the current branch. */
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

  /** Returns the roots of the session with their descendants, older ones first. */
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
