/** Events as subscribers see them. */

import type { JsonObject } from "./generated/types.js";
import { parseObject } from "./json.js";
import { type AnyTypes, type EventOf, type EventSpec, type Spec, row } from "./spec.js";

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

/** An event on its way, parsed when it is looked at. */
export class EventFrame {
  #body: JsonObject | undefined;

  constructor(
    readonly type: string,
    /** The line as it came. */
    readonly raw: string,
    /** What the declaration knows of it. */
    readonly spec: EventSpec | undefined,
    body?: JsonObject,
  ) {
    this.#body = body;
  }

  /** The event's object. Fails with a {@link DecodeError} where the line is broken after its beginning. */
  get body(): JsonObject {
    return (this.#body ??= parseObject(this.raw));
  }

  /** What it weighs in a queue. */
  get size(): number {
    return this.raw.length;
  }

  /** Equal keys: the newer one makes the older one pointless. */
  get key(): string | undefined {
    return this.spec?.snapshot ? this.type : undefined;
  }
}

/** An event as it is handed over. Fails as its body does. */
export function eventOf<T extends AnyTypes>(spec: Spec<T>, frame: EventFrame): EventOf<T> | UnknownEvent {
  const { body } = frame;
  let known = frame.spec !== undefined;
  let name = frame.type;
  // Of two members with one name the last counts, and the beginning of a line does not show it.
  if (typeof body["type"] === "string" && body["type"] !== name) {
    name = body["type"];
    known = row(spec.events, name) !== undefined;
  }
  return known ? (body as EventOf<T>) : { type: UNKNOWN, name, value: body };
}

const HEAD = '{"type":"';

/** Tells events of flat dialects from their beginning alone. */
export class Sniffer {
  readonly #events: ReadonlyMap<string, EventSpec>;
  /** What the last event began with, and was: the next one is mostly of the same kind. */
  #head: string | undefined;
  #type = "";
  #spec: EventSpec | undefined;

  constructor(events: ReadonlyMap<string, EventSpec>) {
    this.#events = events;
  }

  /**
   * The event that a line is. None where looking at the whole line is needed: for what is no event,
   * or unknown, or says something about a run.
   */
  sniff(line: string): EventFrame | undefined {
    if (line.charCodeAt(line.length - 1) !== 0x7d) return undefined;
    if (this.#head === undefined || !line.startsWith(this.#head)) {
      if (!line.startsWith(HEAD)) return undefined;
      const end = line.indexOf('"', HEAD.length);
      const type = line.slice(HEAD.length, end);
      const spec = this.#events.get(type);
      if (spec === undefined || spec.run !== undefined) return undefined;
      // A text of its own: a slice would keep the whole chunk alive.
      this.#head = `${HEAD}${type}"`;
      this.#type = type;
      this.#spec = spec;
    }
    return new EventFrame(this.#type, line, this.#spec);
  }
}
