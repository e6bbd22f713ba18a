/** Events in the form that subscribers receive. */

import type { JsonObject } from "./generated/types.js";
import type { AnyTypes, EventOf, EventSpec } from "./spec.js";

/** Value of `type` for undeclared events. */
export const UNKNOWN = "(unknown)";

/** Event that the declaration does not contain, because it is newer or of third parties. */
export interface UnknownEvent {
  readonly type: typeof UNKNOWN;
  /** Type of the event on the wire. */
  readonly name: string;
  /** Object of the event, without its envelope. */
  readonly value: JsonObject;
}

/** Event with its original line. */
export interface RawEvent<T extends AnyTypes> {
  readonly event: EventOf<T> | UnknownEvent;
  /** Original line. It preserves every byte. */
  readonly raw: string;
}

/** Received event, as it is passed to queues and runs. */
export class EventFrame {
  constructor(
    readonly type: string,
    /** Object of the event, without its envelope. */
    readonly body: JsonObject,
    /** Original text of the line. */
    readonly raw: string,
    /** Declaration of the event; `undefined` if it is undeclared. */
    readonly spec: EventSpec | undefined,
    /** Session of the event, if it names one. */
    readonly session: string | undefined = undefined,
  ) {}

  /** Size of the event for the limit of a queue. */
  get size(): number {
    return this.raw.length;
  }

  /** Key of a snapshot: a newer event with an equal key supersedes an older one. */
  get key(): string | undefined {
    return this.spec?.snapshot ? `${this.type} ${this.session ?? ""}` : undefined;
  }
}

/** Converts an event to the form that subscribers receive. */
export function eventOf<T extends AnyTypes>({ type, body, spec }: EventFrame): EventOf<T> | UnknownEvent {
  return spec === undefined ? { type: UNKNOWN, name: type, value: body } : (body as EventOf<T>);
}
