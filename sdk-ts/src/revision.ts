/**
 * Which revision of its dialect an agent speaks, as far as its frames show it: a state machine without I/O.
 *
 * The declaration names frames that only younger or only older revisions send. Each that comes narrows down what is
 * possible; calls never wait for it.
 */

import type { JsonValue } from "./generated/types.js";
import type { AnyTypes, RevisionSpec, Sign, Spec } from "./spec.js";

/** What stands in place of a revision for the newest one. */
const LATEST = "latest";

/** The revision of a dialect that is meant by `REVISION`, `NAME@REVISION` or `latest`; none where there is no such one. */
export function revisionOf(spec: Spec<AnyTypes>, asked: string): string | undefined {
  const names = namesOf(spec);
  const name = asked.startsWith(`${spec.name}@`) ? asked.slice(spec.name.length + 1) : asked;
  if (name === LATEST) return names.at(-1);
  return names.find((known) => known === name);
}

/** The names of the revisions of a dialect, the oldest first. */
export function namesOf(spec: Spec<AnyTypes>): string[] {
  return spec.revisions?.map(({ name }) => name) ?? [spec.revision];
}

/** A command that the agent's revision does not have: that revision, and those that have it. */
export interface Lack {
  readonly revision: string;
  readonly known: string;
}

/** A frame that the named revision does not send: that revision, and the one that the frame shows. */
export interface Contradiction {
  readonly told: string;
  readonly seen: string;
}

/** What is known of an agent's revision. */
export class Known {
  /** Whether frames can say nothing more, so that none has to be looked at. */
  isSettled: boolean;
  readonly #dialect: string;
  readonly #revisions: readonly RevisionSpec[];
  /** The place of the revision that the caller named. */
  readonly #told: number | undefined;
  #oldest = 0;
  #youngest: number;

  constructor(spec: Spec<AnyTypes>, told?: string) {
    this.#dialect = spec.name;
    this.#revisions = spec.revisions ?? [];
    const place = this.#revisions.findIndex(({ name }) => name === told);
    this.#told = place < 0 ? undefined : place;
    this.#youngest = Math.max(0, this.#revisions.length - 1);
    this.isSettled = !this.#isOpen(this.#oldest, this.#youngest);
  }

  /** The revision: the one that was named, or the only one that is left. Of revisions with the same frames it is the oldest. */
  get revision(): RevisionSpec | undefined {
    const [from, to] = this.#possible;
    return this.#isOpen(from, to) ? undefined : this.#revisions[from];
  }

  /** As `pi@1.5`. */
  id(revision: RevisionSpec | undefined): string {
    return `${this.#dialect}@${revision?.name ?? ""}`;
  }

  /** Looks at an event. `isBare` says whether it stood in no envelope. */
  event(type: unknown, body: object, isBare: boolean): Contradiction | undefined {
    return this.#look((sign) => sign.isBare === isBare || (sign.event === type && fits(sign, body)));
  }

  /** Looks at the data of a successful answer. */
  answer(command: string, data: JsonValue | undefined): Contradiction | undefined {
    const object = typeof data === "object" && data !== null ? data : {};
    return this.#look((sign) => sign.answer === command && (sign.member ? fits(sign, object) : data === undefined));
  }

  /** Where no revision that the agent may have has a command, and others have it. */
  lacks(command: string): Lack | undefined {
    const [from, to] = this.#possible;
    const possible = this.#revisions.slice(from, to + 1);
    if (possible.length === 0 || !possible.every(({ lacks }) => lacks.includes(command))) return undefined;
    return { revision: this.id(this.#revisions[to]), known: this.#having(command) };
  }

  /** The agent does not know a command, which other revisions may have. */
  unknown(command: string): Lack | undefined {
    const [from, to] = this.#possible;
    for (let place = to; place >= from; place--) {
      if (!this.#revisions[place]?.lacks.includes(command)) continue;
      this.#youngest = Math.min(this.#youngest, place);
      this.#narrowed();
      return { revision: this.id(this.#revisions[place]), known: this.#having(command) };
    }
    return undefined;
  }

  /** Whether a frame can still tell these revisions apart: some revision after the first of them has a sign. */
  #isOpen(from: number, to: number): boolean {
    return this.#revisions.slice(from + 1, to + 1).some(({ shows, excludes }) => shows.length + excludes.length > 0);
  }

  get #possible(): readonly [number, number] {
    return this.#told === undefined ? [this.#oldest, this.#youngest] : [this.#told, this.#told];
  }

  #having(command: string): string {
    const having = this.#revisions.filter(({ lacks }) => !lacks.includes(command));
    return having.map((revision) => this.id(revision)).join(", ");
  }

  #look(isSeen: (sign: Sign) => boolean): Contradiction | undefined {
    if (this.isSettled) return undefined;
    this.#revisions.forEach(({ shows, excludes }, place) => {
      if (shows.some(isSeen)) this.#oldest = Math.max(this.#oldest, place);
      if (excludes.some(isSeen)) this.#youngest = Math.min(this.#youngest, Math.max(0, place - 1));
    });
    return this.#narrowed();
  }

  #narrowed(): Contradiction | undefined {
    // Frames that speak against each other: what an agent has says more than what it has not.
    if (this.#oldest > this.#youngest) this.#youngest = this.#oldest;
    const told = this.#told;
    const isYounger = told !== undefined && told < this.#oldest;
    const isOlder = told !== undefined && told > this.#youngest;
    this.isSettled = !this.#isOpen(this.#oldest, this.#youngest) || isYounger || isOlder;
    if (told === undefined || (!isYounger && !isOlder)) return undefined;
    return { told: this.id(this.#revisions[told]), seen: this.id(this.#revisions[isYounger ? this.#oldest : this.#youngest]) };
  }
}

function fits({ member, isAbsent = false }: Sign, object: object): boolean {
  return member === undefined || Object.hasOwn(object, member) !== isAbsent;
}
