/** Fold of the frames of both directions into a conversation. */

import * as meanings from "../generated/meaning/index.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { REDUCERS } from "./reducers/index.js";
import { type ReducerContext, idText } from "./reducers/reducer.js";
import { notify, removeExpired, removeQuestion } from "./reducers/panels.js";
import { type Conversation, emptyConversation } from "./conversation.js";
import type { Meaning, Rules } from "./meaning.js";
import { type FrameValue, at, holds, isObject, readAll } from "./read.js";

/** Direction of a frame: sent by the client, or received from the agent. */
export type Direction = "sent" | "received";

const TABLES: Readonly<Record<string, Meaning>> = meanings;

/** Returns the meaning table of a dialect. Fails with a `RangeError` if the dialect is unknown. */
export function meaningOf(dialect: string): Meaning {
  const meaning = Object.hasOwn(TABLES, dialect) ? TABLES[dialect] : undefined;
  if (meaning === undefined) throw new RangeError(`unknown dialect "${dialect}"; known: ${Object.keys(TABLES).join(", ")}`);
  return meaning;
}

/**
 * Returns the conversation after a frame, given as a line or an object. `at` is the time of arrival in
 * milliseconds since the epoch.
 *
 * An unreadable frame, or one without effect, returns the same conversation.
 */
export function fold(conversation: Conversation, direction: Direction, frame: string | object, at?: number): Conversation {
  const object = typeof frame === "string" ? parsed(frame) : frame;
  const open = removeExpired(conversation, at);
  if (!isObject(object)) return open;
  const folding = new FrameFold(meaningOf(conversation.dialect), at);
  try {
    return direction === "sent" ? folding.sent(open, object) : folding.received(open, object);
  } catch (error) {
    // Values that are nested beyond the recursion limit are treated as unreadable.
    if (error instanceof RangeError) return open;
    throw error;
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Fold of one frame. */
class FrameFold {
  readonly #meaning: Meaning;
  readonly #at: number | undefined;

  constructor(meaning: Meaning, at: number | undefined) {
    this.#meaning = meaning;
    this.#at = at;
  }

  sent(conversation: Conversation, frame: JsonObject): Conversation {
    const { framing, dialogFrames } = this.#meaning;
    const isRpc = framing === "json-rpc";
    const name = isRpc ? frame["method"] : frame["type"];
    const { id } = frame;
    const isAnswer = isRpc ? name === undefined : name === dialogFrames?.answer;
    if (isAnswer) return removeQuestion(conversation, id);
    if (typeof name !== "string") return conversation;
    const params = isRpc ? objectOr(frame["params"]) : frame;
    if (!this.#isOurs(conversation, params)) return conversation;
    const { internal } = conversation;
    const sent = { ...internal.sent, [commandKey(id, name)]: { command: name, params: scalarParams(params) } };
    return this.#apply({ ...conversation, internal: { ...internal, sent } }, this.#meaning.sent, name, id, params);
  }

  received(conversation: Conversation, frame: JsonObject): Conversation {
    return this.#meaning.framing === "json-rpc" ? this.#rpc(conversation, frame) : this.#flat(conversation, frame);
  }

  #flat(conversation: Conversation, frame: JsonObject): Conversation {
    const { framing, dialogFrames } = this.#meaning;
    const { type, id, method } = frame;
    if (type === "response") {
      const error = frame["success"] === true ? undefined : errorText(frame["error"]);
      return this.#answer(conversation, id, frame["command"], frame["data"], error);
    }
    if (type === dialogFrames?.request) return this.#apply(conversation, this.#meaning.dialogs, method, id, frame);
    const isWrapped = type === "event" && framing === "enveloped";
    const body = isWrapped ? objectOr(frame["event"]) : frame;
    return this.#apply(conversation, this.#meaning.events, body["type"], undefined, body);
  }

  #rpc(conversation: Conversation, frame: JsonObject): Conversation {
    const { id, method, error } = frame;
    if (method === undefined) {
      const reason = error === undefined ? undefined : errorText(objectOr(error)["message"]);
      return this.#answer(conversation, id, undefined, frame["result"], reason);
    }
    const params = objectOr(frame["params"]);
    if (!this.#isOurs(conversation, params)) return conversation;
    if (id !== undefined) return this.#apply(conversation, this.#meaning.dialogs, method, id, params);
    if (method !== this.#meaning.notification) return conversation;
    return this.#apply(conversation, this.#meaning.events, params["type"], undefined, params);
  }

  /** Applies the response to a command. `error` is set if the agent rejected the command. */
  #answer(conversation: Conversation, id: JsonValue | undefined, named: unknown, data: JsonValue | undefined, error: string | undefined): Conversation {
    const { internal } = conversation;
    const key = commandKey(id ?? undefined, typeof named === "string" ? named : "");
    const known = Object.hasOwn(internal.sent, key) ? internal.sent[key] : undefined;
    const command = known?.command ?? named;
    const { [key]: _, ...left } = internal.sent;
    const open = known === undefined ? conversation : { ...conversation, internal: { ...internal, sent: left } };
    const params = known?.params ?? {};
    if (error === undefined) {
      if (!this.#isOurs(conversation, objectOr(data))) return open;
      const value = data === undefined ? { params } : { params, data };
      return this.#apply(open, this.#meaning.answers, command, id, value);
    }
    const source = typeof command === "string" ? { source: command } : {};
    const notified = notify(open, { level: "error", text: error, ...source }, { at: this.#at });
    return this.#apply(notified, this.#meaning.refused, command, id, { params, error });
  }

  /**
   * Returns `true` if the frame belongs to the session of the conversation, in dialects with several sessions
   * per connection.
   */
  #isOurs({ session }: Conversation, params: JsonObject): boolean {
    const named = this.#meaning.session === undefined ? undefined : params[this.#meaning.session];
    return typeof named !== "string" || session.id === undefined || session.id === named;
  }

  #apply(conversation: Conversation, rules: Rules, name: unknown, id: JsonValue | undefined, value: JsonObject): Conversation {
    const rows = typeof name === "string" && Object.hasOwn(rules, name) ? (rules[name] ?? []) : [];
    let next = conversation;
    for (const { act, when, over, slots } of rows) {
      const context: ReducerContext = { name: String(name), id, at: this.#at, names: Object.keys(slots), child: this.#child };
      for (const item of over === undefined ? [value] : listOf(at(value, over))) {
        if (holds(when, item)) next = REDUCERS[act]?.(next, readAll(this.#meaning, slots, item), context) ?? next;
      }
    }
    return next;
  }

  readonly #child = (conversation: Conversation | undefined, event: JsonObject): Conversation =>
    this.#apply(conversation ?? emptyConversation(this.#meaning.dialect), this.#meaning.events, event["type"], undefined, event);
}

/** Returns the key of a command in the table of sent commands. */
function commandKey(id: JsonValue | undefined, command: string): string {
  return id === undefined ? `without ${command}` : idText(id);
}

/** Returns the parameters that readers of responses may need: without images and lists. */
function scalarParams(params: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => typeof value !== "object"));
}

function listOf(value: FrameValue): readonly FrameValue[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the text of an error. */
function errorText(error: JsonValue | undefined): string {
  return typeof error === "string" ? error : error === undefined || error === null ? "" : JSON.stringify(error);
}

function objectOr(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
