/** Events in the form that subscribers receive. */

import type { JsonObject } from "./generated/types.js";
import type { AnyTypes, EventOf, EventSpec } from "./spec.js";

/** Value of `type` for undeclared events. */
export const UNKNOWN = "(unknown)";

/** Undeclared event: newer than the declaration, or foreign. */
export interface UnknownEvent {
  readonly type: typeof UNKNOWN;
  /** Original type. */
  readonly name: string;
  /** Object of the event. */
  readonly value: JsonObject;
}

/** Event with its original line. */
export interface RawEvent<T extends AnyTypes> {
  readonly event: EventOf<T> | UnknownEvent;
  /** Original line. Writing it out again preserves every byte. */
  readonly raw: string;
}

/** Event in transit. */
export class EventFrame {
  constructor(
    readonly type: string,
    /** Object of the event. */
    readonly body: JsonObject,
    /** Original line. */
    readonly raw: string,
    /** Declaration of the event, if any. */
    readonly spec: EventSpec | undefined,
    /** Session of the event, if it names one. */
    readonly session: string | undefined = undefined,
  ) {}

  /** Size in a queue. */
  get size(): number {
    return this.raw.length;
  }

  /** Key of a snapshot: a newer event with an equal key supersedes an older one. */
  get key(): string | undefined {
    return this.spec?.snapshot ? `${this.type} ${this.session ?? ""}` : undefined;
  }
}

/** Returns an event in the form for subscribers. */
export function eventOf<T extends AnyTypes>({ type, body, spec }: EventFrame): EventOf<T> | UnknownEvent {
  return spec === undefined ? { type: UNKNOWN, name: type, value: body } : (body as EventOf<T>);
}
