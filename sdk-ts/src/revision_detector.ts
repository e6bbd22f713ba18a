/**
 * Detection of the revision that an agent speaks: a state machine without I/O.
 *
 * The declaration names frames that only newer or only older revisions send. Each such frame narrows down the
 * candidates. Calls never wait for the detection.
 */

import type { JsonValue } from "./generated/types.js";
import type { AnyTypes, Fingerprint, RevisionSpec, Spec } from "./spec.js";

/** Alias of the newest revision. */
const LATEST = "latest";

/**
 * Returns the name of the revision for `REVISION`, `NAME@REVISION` or `latest`; `undefined` if it does not
 * exist.
 */
export function revisionOf(spec: Spec<AnyTypes>, requested: string): string | undefined {
  const names = namesOf(spec);
  const name = requested.startsWith(`${spec.name}@`) ? requested.slice(spec.name.length + 1) : requested;
  if (name === LATEST) return names.at(-1);
  return names.find((known) => known === name);
}

/** Returns the names of the revisions of a dialect, oldest first. */
export function namesOf(spec: Spec<AnyTypes>): string[] {
  return spec.revisions?.map(({ name }) => name) ?? [spec.revision];
}

/**
 * Command that the agent's revision lacks. Contains the agent's revision and the revisions that have the
 * command.
 */
export interface MissingCommand {
  readonly revision: string;
  readonly known: string;
}

/** Frame that the named revision does not send. Contains the named and the detected revision. */
export interface Contradiction {
  readonly named: string;
  readonly seen: string;
}

/** Detector of the agent's revision. */
export class RevisionDetector {
  /** `true` if no further frame can narrow down the revision. */
  isSettled: boolean;
  readonly #dialect: string;
  readonly #revisions: readonly RevisionSpec[];
  /** Index of the revision that the caller named. */
  readonly #namedIndex: number | undefined;
  #oldest = 0;
  #youngest: number;

  constructor(spec: Spec<AnyTypes>, named?: string) {
    this.#dialect = spec.name;
    this.#revisions = spec.revisions ?? [];
    const place = this.#revisions.findIndex(({ name }) => name === named);
    this.#namedIndex = place < 0 ? undefined : place;
    this.#youngest = Math.max(0, this.#revisions.length - 1);
    this.isSettled = !this.#isOpen(this.#oldest, this.#youngest);
  }

  /**
   * Revision that the caller named, or the only remaining candidate. Of several revisions with the same
   * frames, the oldest one.
   */
  get revision(): RevisionSpec | undefined {
    const [from, to] = this.#possible;
    return this.#isOpen(from, to) ? undefined : this.#revisions[from];
  }

  /** Returns the full name of a revision, for example `pi@1.5`. */
  id(revision: RevisionSpec | undefined): string {
    return `${this.#dialect}@${revision?.name ?? ""}`;
  }

  /** Processes an event. `isBare` means that the event had no envelope. */
  event(type: unknown, body: object, isBare: boolean): Contradiction | undefined {
    return this.#observe((fingerprint) => fingerprint.isBare === isBare || (fingerprint.event === type && matches(fingerprint, body)));
  }

  /** Processes the data of a successful response. */
  answer(command: string, data: JsonValue | undefined): Contradiction | undefined {
    const object = typeof data === "object" && data !== null ? data : {};
    return this.#observe((fingerprint) => fingerprint.answer === command && (fingerprint.member ? matches(fingerprint, object) : data === undefined));
  }

  /**
   * Returns a description of the missing command if all candidate revisions lack it and other revisions have
   * it.
   */
  lacks(command: string): MissingCommand | undefined {
    const [from, to] = this.#possible;
    const possible = this.#revisions.slice(from, to + 1);
    if (possible.length === 0 || !possible.every(({ lacks }) => lacks.includes(command))) return undefined;
    return { revision: this.id(this.#revisions[to]), known: this.#revisionsWith(command) };
  }

  /**
   * Processes the agent's rejection of an unknown command. Returns a description of the missing command if
   * other revisions have it.
   */
  rejectedCommand(command: string): MissingCommand | undefined {
    const [from, to] = this.#possible;
    for (let place = to; place >= from; place--) {
      if (!this.#revisions[place]?.lacks.includes(command)) continue;
      this.#youngest = Math.min(this.#youngest, place);
      this.#checkConflict();
      return { revision: this.id(this.#revisions[place]), known: this.#revisionsWith(command) };
    }
    return undefined;
  }

  /**
   * Returns `true` if a frame can still distinguish these revisions, because a revision after the first one
   * has a fingerprint.
   */
  #isOpen(from: number, to: number): boolean {
    return this.#revisions.slice(from + 1, to + 1).some(({ shows, excludes }) => shows.length + excludes.length > 0);
  }

  get #possible(): readonly [number, number] {
    return this.#namedIndex === undefined ? [this.#oldest, this.#youngest] : [this.#namedIndex, this.#namedIndex];
  }

  #revisionsWith(command: string): string {
    const having = this.#revisions.filter(({ lacks }) => !lacks.includes(command));
    return having.map((revision) => this.id(revision)).join(", ");
  }

  #observe(isSeen: (fingerprint: Fingerprint) => boolean): Contradiction | undefined {
    if (this.isSettled) return undefined;
    this.#revisions.forEach(({ shows, excludes }, place) => {
      if (shows.some(isSeen)) this.#oldest = Math.max(this.#oldest, place);
      if (excludes.some(isSeen)) this.#youngest = Math.min(this.#youngest, Math.max(0, place - 1));
    });
    return this.#checkConflict();
  }

  #checkConflict(): Contradiction | undefined {
    // If frames contradict each other, a frame that shows a feature outweighs the lack of one.
    if (this.#oldest > this.#youngest) this.#youngest = this.#oldest;
    const namedIndex = this.#namedIndex;
    const isYounger = namedIndex !== undefined && namedIndex < this.#oldest;
    const isOlder = namedIndex !== undefined && namedIndex > this.#youngest;
    this.isSettled = !this.#isOpen(this.#oldest, this.#youngest) || isYounger || isOlder;
    if (namedIndex === undefined || (!isYounger && !isOlder)) return undefined;
    return { named: this.id(this.#revisions[namedIndex]), seen: this.id(this.#revisions[isYounger ? this.#oldest : this.#youngest]) };
  }
}

function matches({ member, isAbsent = false }: Fingerprint, object: object): boolean {
  return member === undefined || Object.hasOwn(object, member) !== isAbsent;
}
