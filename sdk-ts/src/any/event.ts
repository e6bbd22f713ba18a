/** What happens, in a form that no dialect has. */

import type { JsonValue } from "../generated/types.js";
import type { Block, Conversation, Message, Notice, OpenQuestion, ToolBlock, Usage, Waiting } from "../ui.js";

/** One difference between the conversation before a frame and after it; messages are named by their keys. */
export type AnyEvent =
  /**
   * What the agent is doing, and why the last run failed. `idle` may be followed by work again (a retry, a compaction, a
   * queued prompt): a run knows when it is over.
   */
  | { readonly type: "state"; readonly state: Conversation["run"]["state"]; readonly error?: string }
  | { readonly type: "messageBegan"; readonly message: string; readonly role: Message["role"] }
  /** A block of the model's text has more. Messages of others come whole, when they end. */
  | { readonly type: "textGrew"; readonly message: string; readonly block: number; readonly text: string }
  | { readonly type: "thinkingGrew"; readonly message: string; readonly block: number; readonly text: string }
  /** A call is being written: what was added to its JSON text, or the arguments as far as they can be read. */
  | {
      readonly type: "argumentsGrew";
      readonly message: string;
      readonly block: number;
      readonly callId: string;
      readonly name: string;
      readonly text?: string;
      readonly arguments?: JsonValue;
    }
  /** A block stands otherwise than before, or is of another kind. */
  | { readonly type: "blockChanged"; readonly message: string; readonly block: number; readonly value: Block }
  /** A message is complete, with usage, stop reason and error where it has them. */
  | { readonly type: "messageEnded"; readonly message: Message }
  /** A message is no longer in the model's context. */
  | { readonly type: "messageGone"; readonly message: string }
  | { readonly type: "toolStarted"; readonly callId: string; readonly name: string; readonly arguments?: JsonValue }
  /** What a tool has shown so far, all of it. */
  | { readonly type: "toolUpdated"; readonly callId: string; readonly output: readonly Block[]; readonly details?: unknown }
  | {
      readonly type: "toolEnded";
      readonly callId: string;
      readonly name: string;
      readonly state: ToolBlock["state"];
      readonly result: readonly Block[];
      readonly details?: unknown;
    }
  /** The conversation was told anew: another session, or its history. What was said before counts no more. */
  | { readonly type: "replaced"; readonly messages: readonly Message[] }
  /** What waits to enter the conversation, all of it. */
  | { readonly type: "queue"; readonly waiting: readonly Waiting[] }
  | { readonly type: "asked"; readonly question: OpenQuestion }
  /** The question with that key was answered, taken back, or its time is up. */
  | { readonly type: "answered"; readonly question: string }
  | { readonly type: "notice"; readonly notice: Notice }
  | { readonly type: "retryBegan"; readonly retry: NonNullable<Conversation["run"]["retry"]> }
  | { readonly type: "retryEnded" }
  | { readonly type: "compactionBegan"; readonly reason?: string }
  /** The summary is a message before this. */
  | { readonly type: "compactionEnded" }
  /** What the session has used so far, and how full the model's context is. */
  | { readonly type: "usage"; readonly usage: Usage; readonly context?: NonNullable<Conversation["context"]> }
  /** Other members of the conversation have changed: look there. */
  | { readonly type: "changed"; readonly members: readonly string[] };

/** What one event, or one value in it, counts besides its text. */
const ONE = 128;

/** About how much an event takes, in UTF-16 units. Messages are shared with the conversation. */
export function size(event: AnyEvent): number {
  switch (event.type) {
    case "textGrew":
    case "thinkingGrew":
      return ONE + event.text.length;
    case "argumentsGrew":
      return ONE + (event.text?.length ?? 0) + weight(event.arguments);
    case "toolUpdated":
      return ONE + weight(event.output) + weight(event.details);
    case "blockChanged":
      return ONE + weight(event.value);
    default:
      return ONE;
  }
}

function weight(value: unknown): number {
  if (typeof value === "string") return ONE + value.length;
  if (typeof value !== "object" || value === null) return ONE;
  return Object.values(value).reduce<number>((sum, member) => sum + weight(member), ONE);
}
