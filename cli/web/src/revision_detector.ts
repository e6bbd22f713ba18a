/** Detection of the agent's revision from its frames. */

import type { Spec } from "agentese";

/** Detector of the agent's revision, based on the declared fingerprints. */
export class RevisionDetector {
  readonly #spec: Spec;
  #name: string | undefined;

  /** Creates a detector. `named` is the revision that the server was started with, if any. */
  constructor(spec: Spec, named: string | null) {
    this.#spec = spec;
    this.#name = named ?? undefined;
  }

  /** `true` if the detection is complete. */
  get isKnown(): boolean {
    return this.#name !== undefined || (this.#spec.revisions ?? []).length === 0;
  }

  /**
   * Returns `true` if the agent may have the command: in its revision, or in any revision that
   * is still possible.
   */
  has(command: string): boolean {
    const all = this.#spec.revisions ?? [];
    const known = all.find(({ name }) => name === this.#name);
    return !(known ? [known] : all).some(({ lacks }) => lacks.includes(command));
  }

  /** Inspects a frame of the agent. Returns `true` if the revision is known as a result. */
  observe(kind: "event" | "answer", type: string, body: unknown): boolean {
    if (this.#name !== undefined || typeof body !== "object" || body === null) return false;
    const shown = (this.#spec.revisions ?? []).findLast(({ shows }) =>
      shows.some((fingerprint) => {
        if (fingerprint[kind] !== type) return false;
        return fingerprint.member === undefined || Object.hasOwn(body, fingerprint.member) !== (fingerprint.isAbsent ?? false);
      }),
    );
    this.#name = shown?.name;
    return shown !== undefined;
  }
}
