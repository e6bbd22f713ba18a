/** Changes to a conversation: a function for each act in the tables. */

import type { JsonObject, JsonValue } from "../../generated/types.js";
import type { Conversation } from "../conversation.js";

/** Context of an act besides its slots. */
export interface ReducerContext {
  /** Name of the row. */
  readonly name: string;
  /** Id of the command or the dialog. */
  readonly id: JsonValue | undefined;
  /** Time of arrival of the frame, in milliseconds since the epoch. */
  readonly at: number | undefined;
  /** Names of all slots, including those without a value. */
  readonly names: readonly string[];
  /** Function that folds an event into the conversation of a subagent. */
  readonly child: (conversation: Conversation | undefined, event: JsonObject) => Conversation;
}

/** Act. Returns the same conversation if nothing changes. */
export type Reducer = (conversation: Conversation, slots: JsonObject, context: ReducerContext) => Conversation;

/** Returns a conversation with a new unique key. */
export function nextKey(conversation: Conversation): readonly [string, Conversation] {
  const { next } = conversation.internal;
  return [`k${next}`, { ...conversation, internal: { ...conversation.internal, next: next + 1 } }];
}

/** Returns an id in comparable form. */
export function idText(id: JsonValue | undefined): string {
  return id === undefined ? "" : JSON.stringify(id);
}
