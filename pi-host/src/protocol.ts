/** The generated types of the extension protocol, and what follows from them. */

import type {
  ExtensionFrame,
  HookAnswers,
  HookEvent,
  HostAnswers,
  HostFrame,
  HostState,
} from "../../sdk-ts/src/generated/extension.js";

export type * from "../../sdk-ts/src/generated/extension.js";
export type { BashResult, JsonObject, JsonValue, Model, ThinkingLevel } from "../../sdk-ts/src/generated/types.js";
export type { ExtensionFrame, HookAnswers, HookEvent, HostAnswers, HostFrame, HostState };

/** The version of the protocol that this program speaks. */
export const PROTOCOL = 1;

/** Takes a member from each arm of a union. */
type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** A frame of ours by its type. */
export type FrameOf<K extends ExtensionFrame["type"]> = Extract<ExtensionFrame, { type: K }>;

/** A frame that can be a question, still without its id. */
export type Question = Without<Extract<ExtensionFrame, { id?: string; type: QuestionType }>, "id">;

/** The types of frames that the agent answers. */
export type QuestionType = Exclude<
  ExtensionFrame["type"],
  "response" | "tool_update" | "failed" | "log" | "withdraw" | "notify" | "set_status" | "set_widget" | "set_title" | "set_editor_text"
>;

/** The result of a question by its type; nothing where the protocol names none. */
export type ResultOf<K> = K extends keyof HostAnswers ? NonNullable<HostAnswers[K]> : undefined;

/** What the handling of an event may answer. */
export type HookAnswer = NonNullable<HookAnswers[keyof HookAnswers]>;
