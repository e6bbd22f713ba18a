/** What the neutral commands take and give. */

import type { JsonValue } from "../generated/types.js";
import type { Conversation, Message, Model, SlashCommand, Usage } from "../ui.js";

export type { Intent } from "./table.js";

/** An image that goes with words. */
export interface Image {
  readonly mimeType: string;
  /** Base64. */
  readonly data: string;
}

/** Words of the user: a text, or one with images. */
export type Words =
  | string
  | {
      readonly text: string;
      readonly images?: readonly Image[];
      /** What becomes of a prompt where a run is going on, in dialects that ask for it. */
      readonly whenBusy?: "steer" | "followUp";
    };

/** What an agent is doing, and with which settings, as far as its dialect tells. */
export interface State {
  readonly model?: Model;
  readonly thinkingLevel?: string;
  readonly working?: boolean;
  readonly compacting?: boolean;
  /** How many messages the conversation has. */
  readonly messages?: number;
  /** How many words wait in the queues. */
  readonly waiting?: number;
  readonly session?: Conversation["session"];
  readonly settings?: Readonly<Record<string, JsonValue>>;
  readonly usage?: Usage;
  readonly context?: Conversation["context"];
}

/** Tokens and cost of a session. */
export interface Stats {
  readonly usage?: Usage;
  /** How many messages the session has. */
  readonly messages?: number;
  readonly context?: Conversation["context"];
}

/** A session that is kept. */
export interface KeptSession {
  /** What opens it. */
  readonly session: string;
  readonly name?: string;
  readonly modified?: string;
}

/** What came of another place in the conversation. */
export interface Forked {
  /** True where an extension of the agent prevented it. */
  readonly cancelled?: boolean;
  /** The words that stood there. */
  readonly text?: string;
}

/** What a shell command of the user did. */
export interface ShellResult {
  readonly output?: string;
  /** Missing where it was stopped. */
  readonly exitCode?: number;
  readonly cancelled?: boolean;
  readonly truncated?: boolean;
}

/** What each intent gives, as far as the dialect tells it. */
export interface Results extends Forked, Omit<ShellResult, "cancelled"> {
  readonly outcome?: "started" | "queued" | "handled";
  readonly steering?: readonly string[];
  readonly followUp?: readonly string[];
  readonly sessions?: readonly KeptSession[];
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
