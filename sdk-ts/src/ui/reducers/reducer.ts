/** Type of the reducers, which change a conversation. The tables name one for each rule. */

import type { JsonObject, JsonValue } from "../../generated/types.js";
import type { Conversation } from "../conversation.js";

/** Data about the current frame for a reducer, in addition to its bindings. */
export interface ReducerContext {
  /** Name of the command, event or dialog. */
  readonly name: string;
  /** Id of the command or the dialog. */
  readonly id: JsonValue | undefined;
  /** Time of arrival of the frame, in milliseconds since the epoch. */
  readonly at: number | undefined;
  /** Names of all bindings, including those without a value. */
  readonly names: readonly string[];
  /** Function that folds an event into the conversation of a subagent. */
  readonly child: (conversation: Conversation | undefined, event: JsonObject) => Conversation;
}

/** Reducer. Returns the same conversation if nothing changes. */
export type Reducer = (conversation: Conversation, slots: JsonObject, context: ReducerContext) => Conversation;

/** Returns a new unique key, and the conversation with its key counter increased. */
export function nextKey(conversation: Conversation): readonly [string, Conversation] {
  const { next } = conversation.internal;
  return [`k${next}`, { ...conversation, internal: { ...conversation.internal, next: next + 1 } }];
}

/** Returns an id as text, so that ids can be compared. */
export function idText(id: JsonValue | undefined): string {
  return id === undefined ? "" : JSON.stringify(id);
}
