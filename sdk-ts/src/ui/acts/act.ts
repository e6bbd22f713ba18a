/** What is done to a conversation: a function for each act that tables name. */

import type { JsonObject, JsonValue } from "../../generated/types.js";
import type { Conversation } from "../conversation.js";

/** What an act knows besides its slots. */
export interface About {
  /** The row's name. */
  readonly name: string;
  /** The id of the command or the dialog. */
  readonly id: JsonValue | undefined;
  /** When the frame came, in milliseconds since the epoch. */
  readonly at: number | undefined;
  /** The names of all slots, those without a value among them. */
  readonly names: readonly string[];
  /** Folds an event into the conversation of a subagent. */
  readonly child: (conversation: Conversation | undefined, event: JsonObject) => Conversation;
}

/** An act. Gives the same conversation where nothing changes. */
export type Act = (conversation: Conversation, slots: JsonObject, about: About) => Conversation;

/** A conversation with the next key, which is no other's. */
export function nextKey(conversation: Conversation): readonly [string, Conversation] {
  const { next } = conversation.internal;
  return [`k${next}`, { ...conversation, internal: { ...conversation.internal, next: next + 1 } }];
}

/** An id as it is compared. */
export function idText(id: JsonValue | undefined): string {
  return id === undefined ? "" : JSON.stringify(id);
}
