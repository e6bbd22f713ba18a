/** Detection of the agent's revision from its frames. */

import type { Spec } from "agentese";

/** Detector of the revision, based on the declared signs. */
export class Revision {
  readonly #spec: Spec;
  #name: string | undefined;

  /** Creates a detector. `told` is the revision that the server names. */
  constructor(spec: Spec, told: string | null) {
    this.#spec = spec;
    this.#name = told ?? undefined;
  }

  /** `true` if the detection is complete. */
  get isKnown(): boolean {
    return this.#name !== undefined || (this.#spec.revisions ?? []).length === 0;
  }

  /** Returns `true` if the agent may have the command, in its revision or in any candidate. */
  has(command: string): boolean {
    const all = this.#spec.revisions ?? [];
    const known = all.find(({ name }) => name === this.#name);
    return !(known ? [known] : all).some(({ lacks }) => lacks.includes(command));
  }

  /** Inspects a frame of the agent. Returns `true` if the frame shows the revision. */
  look(kind: "event" | "answer", type: string, body: unknown): boolean {
    if (this.#name !== undefined || typeof body !== "object" || body === null) return false;
    const shown = (this.#spec.revisions ?? []).findLast(({ shows }) =>
      shows.some((sign) => {
        if (sign[kind] !== type) return false;
        return sign.member === undefined || Object.hasOwn(body, sign.member) !== (sign.isAbsent ?? false);
      }),
    );
    this.#name = shown?.name;
    return shown !== undefined;
  }
}
