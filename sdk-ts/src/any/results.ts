/** Parameters and results of the neutral commands. */

import type { JsonValue } from "../generated/types.js";
import type { Conversation, Message, Model, SlashCommand, Usage } from "../ui.js";

export type { Intent } from "./table.js";

/** Image in user input. */
export interface Image {
  readonly mimeType: string;
  /** Bytes of the image in base64. */
  readonly data: string;
}

/** User input: a text alone, or a text with images. */
export type UserInput =
  | string
  | {
      readonly text: string;
      readonly images?: readonly Image[];
      /** Delivery of a prompt during a run, in dialects with such a parameter. */
      readonly whenBusy?: "steer" | "followUp";
    };

/** Activity and settings of an agent, as far as its dialect provides them. */
export interface State {
  readonly model?: Model;
  readonly thinkingLevel?: string;
  readonly working?: boolean;
  readonly compacting?: boolean;
  /** Number of messages in the conversation. */
  readonly messages?: number;
  /** Number of queued inputs. */
  readonly waiting?: number;
  readonly session?: Conversation["session"];
  readonly settings?: Readonly<Record<string, JsonValue>>;
  readonly usage?: Usage;
  readonly context?: Conversation["context"];
}

/** Tokens and cost of a session. */
export interface Stats {
  readonly usage?: Usage;
  /** Number of messages in the session. */
  readonly messages?: number;
  readonly context?: Conversation["context"];
}

/** Stored session. */
export interface StoredSession {
  /** Path or id for `openSession`. */
  readonly session: string;
  readonly name?: string;
  readonly modified?: string;
}

/** Result of a fork. */
export interface ForkResult {
  /** `true` if an extension of the agent prevented the fork. */
  readonly cancelled?: boolean;
  /** Text of the user message before which the session was forked. */
  readonly text?: string;
}

/** Result of a shell command of the user. */
export interface ShellResult {
  readonly output?: string;
  /** Exit code; absent if the command was stopped. */
  readonly exitCode?: number;
  readonly cancelled?: boolean;
  readonly truncated?: boolean;
}

/** Results of all intents. Members that the dialect does not provide are absent. */
export interface Results extends ForkResult, Omit<ShellResult, "cancelled"> {
  readonly outcome?: "started" | "queued" | "handled";
  readonly steering?: readonly string[];
  readonly followUp?: readonly string[];
  readonly sessions?: readonly StoredSession[];
  readonly points?: readonly { readonly id: string; readonly text: string }[];
  readonly messages?: readonly Message[];
  readonly message?: Message;
  readonly models?: readonly Model[];
  readonly model?: Model;
  readonly levels?: readonly string[];
  readonly thinkingLevel?: string;
  readonly path?: string;
  readonly commands?: readonly SlashCommand[];
  readonly entries?: JsonValue;
  readonly tree?: JsonValue;
  readonly leaf?: string;
  readonly todos?: readonly { readonly text: string; readonly status: string }[];
}
