/** Events as subscribers see them. */

import type { JsonObject } from "./generated/types.js";
import type { AnyTypes, EventOf } from "./spec.js";

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
export interface EventFrame {
  readonly type: string;
  readonly body: JsonObject;
  readonly raw: string;
  readonly known: boolean;
}

/** An event as it is handed over. */
export function eventOf<T extends AnyTypes>(frame: EventFrame): EventOf<T> | UnknownEvent {
  if (frame.known) return frame.body as EventOf<T>;
  return { type: UNKNOWN, name: frame.type, value: frame.body };
}
