/** Events that are independent of the dialect. */

import type { JsonValue } from "../generated/types.js";
import type { Block, Conversation, Message, Notice, OpenQuestion, PendingInput, ToolBlock, Usage } from "../ui.js";

/** Difference between the conversations before and after a frame. Events name messages by their keys. */
export type AnyEvent =
  /**
   * Activity of the agent, and reason for the failure of the last run. After `idle`, work may resume (a
   * retry, a compaction, a queued prompt). The end of a run is the end of its own events.
   */
  | { readonly type: "state"; readonly state: Conversation["run"]["state"]; readonly error?: string }
  | { readonly type: "messageBegan"; readonly message: string; readonly role: Message["role"] }
  /** A text block of the model grew. Messages of other roles arrive complete, at their end. */
  | { readonly type: "textGrew"; readonly message: string; readonly block: number; readonly text: string }
  | { readonly type: "thinkingGrew"; readonly message: string; readonly block: number; readonly text: string }
  /** The arguments of a tool call grew: new JSON text, or the arguments that can be parsed so far. */
  | {
      readonly type: "argumentsGrew";
      readonly message: string;
      readonly block: number;
      readonly callId: string;
      readonly name: string;
      readonly text?: string;
      readonly arguments?: JsonValue;
    }
  /** The content or type of a block changed. */
  | { readonly type: "blockChanged"; readonly message: string; readonly block: number; readonly value: Block }
  /** A message ended, with usage, stop reason and error if present. */
  | { readonly type: "messageEnded"; readonly message: Message }
  /** A message is no longer in the model's context. */
  | { readonly type: "messageGone"; readonly message: string }
  | { readonly type: "toolStarted"; readonly callId: string; readonly name: string; readonly arguments?: JsonValue }
  /** Complete output of a tool so far. */
  | { readonly type: "toolUpdated"; readonly callId: string; readonly output: readonly Block[]; readonly details?: unknown }
  | {
      readonly type: "toolEnded";
      readonly callId: string;
      readonly name: string;
      readonly state: ToolBlock["state"];
      readonly result: readonly Block[];
      readonly details?: unknown;
    }
  /**
   * The conversation was replaced by another session or by its history. Messages of the earlier conversation
   * are no longer valid.
   */
  | { readonly type: "replaced"; readonly messages: readonly Message[] }
  /** All user input that is not part of the conversation yet. */
  | { readonly type: "queue"; readonly waiting: readonly PendingInput[] }
  | { readonly type: "asked"; readonly question: OpenQuestion }
  /** The question with that key was answered, was withdrawn, or reached its time limit. */
  | { readonly type: "answered"; readonly question: string }
  | { readonly type: "notice"; readonly notice: Notice }
  | { readonly type: "retryBegan"; readonly retry: NonNullable<Conversation["run"]["retry"]> }
  | { readonly type: "retryEnded" }
  | { readonly type: "compactionBegan"; readonly reason?: string }
  /** A compaction ended. An earlier event contains the summary. */
  | { readonly type: "compactionEnded" }
  /** Usage of the session so far, and the occupied part of the model's context window. */
  | { readonly type: "usage"; readonly usage: Usage; readonly context?: NonNullable<Conversation["context"]> }
  /** Names of other members of the conversation that changed. */
  | { readonly type: "changed"; readonly members: readonly string[] };

/**
 * Assumed fixed memory of an event, and of each value in it, in UTF-16 units. The length of its text is
 * added.
 */
const EVENT_OVERHEAD = 128;

/**
 * Returns the approximate memory of an event in UTF-16 units. Messages are not included, because the
 * conversation holds the same objects.
 */
export function size(event: AnyEvent): number {
  switch (event.type) {
    case "textGrew":
    case "thinkingGrew":
      return EVENT_OVERHEAD + event.text.length;
    case "argumentsGrew":
      return EVENT_OVERHEAD + (event.text?.length ?? 0) + weight(event.arguments);
    case "toolUpdated":
      return EVENT_OVERHEAD + weight(event.output) + weight(event.details);
    case "blockChanged":
      return EVENT_OVERHEAD + weight(event.value);
    default:
      return EVENT_OVERHEAD;
  }
}

function weight(value: unknown): number {
  if (typeof value === "string") return EVENT_OVERHEAD + value.length;
  if (typeof value !== "object" || value === null) return EVENT_OVERHEAD;
  return Object.values(value).reduce<number>((sum, member) => sum + weight(member), EVENT_OVERHEAD);
}
