/** Which revision of a dialect the agent speaks, as far as its frames show. */

import type { Spec } from "agentese";

/** Finds out by the declared signs which commands the agent has. */
export class Revision {
  readonly #spec: Spec;
  #name: string | undefined;

  /** `told` is the revision that the server names. */
  constructor(spec: Spec, told: string | null) {
    this.#spec = spec;
    this.#name = told ?? undefined;
  }

  /** Whether nothing is left to find out. */
  get isKnown(): boolean {
    return this.#name !== undefined || (this.#spec.revisions ?? []).length === 0;
  }

  /** Whether the agent may have the command: in a dialect with revisions, whether the one that it speaks has it. */
  has(command: string): boolean {
    const all = this.#spec.revisions ?? [];
    const known = all.find(({ name }) => name === this.#name);
    return !(known ? [known] : all).some(({ lacks }) => lacks.includes(command));
  }

  /** Looks at a frame of the agent. True where it shows the revision. */
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
