/** Events as subscribers see them. */

import type { JsonObject } from "./generated/types.js";
import type { AnyTypes, EventOf, EventSpec } from "./spec.js";

/** The `type` of an event that the declaration does not name. */
export const UNKNOWN = "(unknown)";

/** An event that the declaration does not name: younger than it, or foreign. */
export interface UnknownEvent {
  readonly type: typeof UNKNOWN;
  /** The type that it came with. */
  readonly name: string;
  /** The event's object. */
  readonly value: JsonObject;
}

/** An event with the line that it came in. */
export interface RawEvent<T extends AnyTypes> {
  readonly event: EventOf<T> | UnknownEvent;
  /** The line as it came. Writing it out again changes not a byte. */
  readonly raw: string;
}

/** An event on its way. */
export class EventFrame {
  constructor(
    readonly type: string,
    /** The event's object. */
    readonly body: JsonObject,
    /** The line as it came. */
    readonly raw: string,
    /** What the declaration knows of it. */
    readonly spec: EventSpec | undefined,
    /** The session that it belongs to, where it says so. */
    readonly session: string | undefined = undefined,
  ) {}

  /** What it weighs in a queue. */
  get size(): number {
    return this.raw.length;
  }

  /** Equal keys: the newer one makes the older one pointless. */
  get key(): string | undefined {
    return this.spec?.snapshot ? `${this.type} ${this.session ?? ""}` : undefined;
  }
}

/** An event as it is handed over. */
export function eventOf<T extends AnyTypes>({ type, body, spec }: EventFrame): EventOf<T> | UnknownEvent {
  return spec === undefined ? { type: UNKNOWN, name: type, value: body } : (body as EventOf<T>);
}
