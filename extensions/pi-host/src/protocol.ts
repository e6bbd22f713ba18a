/** Generated types of the extension protocol, and types derived from them. */

import type {
  ExtensionFrame,
  HookAnswers,
  HookEvent,
  HostAnswers,
  HostFrame,
  HostState,
} from "../../../sdk-ts/src/generated/extension.js";

export type * from "../../../sdk-ts/src/generated/extension.js";
export type { BashResult, JsonObject, JsonValue, Model, ThinkingLevel } from "../../../sdk-ts/src/generated/types.js";
export type { ExtensionFrame, HookAnswers, HookEvent, HostAnswers, HostFrame, HostState };

/** Supported version of the protocol. */
export const PROTOCOL = 1;

/** Removes a member from each variant of a union. */
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** Frame that this side sends, by its type. */
export type FrameOf<K extends ExtensionFrame["type"]> = Extract<ExtensionFrame, { type: K }>;

/** Request that this side sends, without its id. */
export type AgentRequest = DistributiveOmit<Extract<ExtensionFrame, { id?: string; type: AgentRequestType }>, "id">;

/** Types of the frames of this side that the agent answers. */
export type AgentRequestType = Exclude<
  ExtensionFrame["type"],
  "response" | "tool_update" | "failed" | "log" | "withdraw" | "notify" | "set_status" | "set_widget" | "set_title" | "set_editor_text"
>;

/**
 * Result of a request, by the type of the request; `undefined` if the protocol defines no
 * result.
 */
export type ResultOf<K> = K extends keyof HostAnswers ? NonNullable<HostAnswers[K]> : undefined;

/** Possible answer to an event. */
export type HookAnswer = NonNullable<HookAnswers[keyof HookAnswers]>;
