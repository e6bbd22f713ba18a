/** Conversation between an agent and its user, independent of the dialect: plain, immutable data. */

import type { JsonObject, JsonValue } from "../generated/types.js";

/**
 * Conversation, as far as the folded frames describe it. It can be stored as plain JSON, and continued later.
 */
export interface Conversation {
  readonly dialect: string;
  /** Messages in the order of arrival, including those outside of the model's context. */
  readonly messages: readonly Message[];
  /**
   * `false` if the agent has messages that no folded frame contained, because the session was replaced or had
   * existed before. The response to the history command supplies them.
   */
  readonly complete: boolean;
  /** User input that is not part of the conversation yet, including the agent's queues. */
  readonly waiting: readonly PendingInput[];
  readonly run: Run;
  /** Tokens and cost of the whole session, as far as frames reported them. */
  readonly usage: Usage;
  /** Occupied part of the model's context window. */
  readonly context?: { readonly tokens?: number; readonly window?: number };
  /** Questions that have no answer yet. */
  readonly dialogs: readonly OpenQuestion[];
  /** Running shell commands that the client started. */
  readonly shells: readonly Shell[];
  /** Last hundred notices: notifications, rejected commands, failures of extensions. */
  readonly notices: readonly Notice[];
  /** Entries of the status line, by key. */
  readonly status: Readonly<Record<string, string>>;
  /** Blocks of lines beside the editor, by key. */
  readonly widgets: Readonly<Record<string, Widget>>;
  /** Title of the window. */
  readonly title?: string;
  /** Text for the input editor. `count` increases with each such text. */
  readonly draft?: { readonly text: string; readonly count: number };
  readonly session: { readonly id?: string; readonly file?: string; readonly name?: string; readonly directory?: string };
  readonly model?: Model;
  readonly thinkingLevel?: string;
  /** Settings by name, such as `steeringMode` and `autoCompaction`, as far as frames reported them. */
  readonly settings: Readonly<Record<string, JsonValue>>;
  /** Commands that a prompt can invoke with `/name`. */
  readonly commands?: readonly SlashCommand[];
  readonly models?: readonly Model[];
  /** User messages from which a fork is possible. */
  readonly forkPoints?: readonly { readonly id: string; readonly text: string }[];
  readonly todos?: readonly { readonly text: string; readonly status: string }[];
  /** Subagents of the agent. */
  readonly tasks: readonly Task[];
  /** Internal state of the fold. */
  readonly internal: FoldState;
}

/** Message of the conversation. */
export interface Message {
  /** Unique key of the message, which never changes. */
  readonly key: string;
  /** Id that the agent assigned, if any. */
  readonly id?: string;
  readonly role: "user" | "assistant" | "tool" | "system" | "summary" | "shell" | "note";
  /** Role in the dialect, if it is more specific than `role`. */
  readonly kind?: string;
  readonly state: "growing" | "done" | "failed" | "aborted";
  readonly blocks: readonly Block[];
  readonly model?: string;
  readonly provider?: string;
  /** Wire format of the model's API, as the agent names it. */
  readonly api?: string;
  readonly usage?: Usage;
  readonly stopReason?: string;
  readonly error?: string;
  /** Time in milliseconds since the epoch, from the agent. */
  readonly time?: number;
  /** Id of the tool call, for the role `tool`. The block of the call contains the result too. */
  readonly callId?: string;
  readonly name?: string;
  /** Shell command, for the role `shell`; the output is in `blocks`. */
  readonly command?: string;
  readonly exitCode?: number;
  readonly cancelled?: boolean;
  readonly truncated?: boolean;
  /** Number of tokens before the compaction, for the role `summary`. */
  readonly tokensBefore?: number;
  readonly details?: JsonValue;
  /** `true` if the message is not part of the model's context, because it was retried or compacted. */
  readonly gone?: boolean;
  /** `true` if the message is not meant for display. */
  readonly hidden?: boolean;
}

/** Part of a message. */
export type Block =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "thinking";
      readonly text: string;
      readonly redacted?: boolean;
      /** Opaque value that the provider requires with the block. */
      readonly signature?: string;
    }
  | { readonly type: "image"; readonly mimeType: string; readonly data: string }
  | { readonly type: "data"; readonly value: JsonValue }
  | ToolBlock;

/** Tool call of the model, with the progress and result of the tool. */
export interface ToolBlock {
  readonly type: "tool";
  readonly callId: string;
  readonly name: string;
  /** Arguments: complete, or the part that the agent could parse so far. */
  readonly arguments?: JsonObject;
  /** JSON text of the arguments so far, if the agent sends only pieces of it; see `readArguments`. */
  readonly argumentsText?: string;
  readonly state: "coming" | "running" | "done" | "failed" | "skipped";
  /** Output of the tool so far. */
  readonly output?: readonly Block[];
  readonly result?: readonly Block[];
  /** Details of the result for display. Their form depends on the tool. */
  readonly details?: JsonValue;
  readonly durationMs?: number;
  /** Description of the call for users, in one line. */
  readonly label?: string;
  /** Opaque value that the provider requires with the call. */
  readonly signature?: string;
  /** Conversation of a subagent that the tool started. */
  readonly child?: Conversation;
}

/** Tokens, and the cost in US dollars. */
export interface Usage {
  readonly input?: number;
  readonly output?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly total?: number;
  readonly cost?: number;
  /** Detailed cost of one message, in the form that the agent reports. */
  readonly costs?: JsonValue;
}

/** Activity of the agent. */
export interface Run {
  readonly state: "idle" | "working" | "retrying" | "compacting" | "aborting";
  readonly working: boolean;
  readonly aborting: boolean;
  readonly retry?: { readonly attempt?: number; readonly maxAttempts?: number; readonly delayMs?: number; readonly error?: string; readonly at?: number };
  readonly compaction?: { readonly reason?: string };
  /** Description of the activity, in the agent's wording. */
  readonly activity?: string;
  /** Reason for the failure of the last run. */
  readonly error?: string;
}

/** User input that is not part of the conversation yet. */
export interface PendingInput {
  readonly key: string;
  /** Id of the command that sent the input. */
  readonly id?: JsonValue;
  readonly text: string;
  /** Number of images in the input. */
  readonly images: number;
  readonly mode: "prompt" | "steer" | "followUp";
  readonly state: "sent" | "taken" | "queued";
}

/** Question that has no answer yet. */
export interface OpenQuestion {
  readonly key: string;
  readonly id: JsonValue;
  /** Wire name of the dialog. */
  readonly method: string;
  readonly kind: "select" | "confirm" | "input" | "editor";
  readonly title?: string;
  readonly text?: string;
  readonly options?: readonly string[];
  readonly placeholder?: string;
  readonly prefill?: string;
  readonly secret?: boolean;
  /** Time in milliseconds after which the agent continues without an answer. */
  readonly timeoutMs?: number;
  /** Time of arrival, if the caller of the view supplied it. */
  readonly at?: number;
}

/** Shell command that the client started. */
export interface Shell {
  readonly key: string;
  readonly id?: JsonValue;
  readonly command: string;
  readonly output: string;
}

/** Notice for the user. */
export interface Notice {
  readonly key: string;
  readonly level: "info" | "warning" | "error";
  readonly text: string;
  /** Source: file of an extension, or name of a command. */
  readonly source?: string;
  readonly at?: number;
}

/** Block of lines beside the editor. */
export interface Widget {
  readonly lines: readonly string[];
  readonly placement?: string;
}

/** Model that the agent offers. */
export interface Model {
  readonly id: string;
  readonly provider?: string;
  readonly name?: string;
  /** Context window in tokens. */
  readonly window?: number;
  readonly reasoning?: boolean;
  /** Wire format of the API, as the agent names it. */
  readonly api?: string;
  /** Address of the API. */
  readonly baseUrl?: string;
  /** Input types: `text`, `image`. */
  readonly input?: readonly string[];
  /** Maximum number of tokens in one answer. */
  readonly maxTokens?: number;
  /** Prices in US dollars per million tokens, in the form that the agent reports. */
  readonly prices?: JsonValue;
}

/** Command that a prompt can invoke with `/name`. */
export interface SlashCommand {
  readonly name: string;
  readonly description?: string;
  readonly source?: string;
}

/** Subagent of the agent. */
export interface Task {
  readonly id: string;
  readonly name?: string;
  readonly state: "running" | "done" | "failed";
  readonly [member: string]: JsonValue | undefined;
}

/** Internal state of the fold. */
export interface FoldState {
  /** Number that the next key contains. */
  readonly next: number;
  /** Commands that have no response yet, by their ids as JSON. */
  readonly sent: Readonly<Record<string, { readonly command: string; readonly params: JsonObject }>>;
  /** Messages of shell commands that ended during a run. They are added to the conversation after the run. */
  readonly held: readonly Message[];
  /** Reason for the failure of the current run; a later event may replace it. */
  readonly failure?: string;
}

/** Returns an empty conversation. */
export function emptyConversation(dialect: string): Conversation {
  return {
    dialect,
    messages: [],
    complete: true,
    waiting: [],
    run: IDLE,
    usage: {},
    dialogs: [],
    shells: [],
    notices: [],
    status: {},
    widgets: {},
    session: {},
    settings: {},
    tasks: [],
    internal: { next: 1, sent: {}, held: [] },
  };
}

/** State of a run while the agent is idle. */
export const IDLE: Run = { state: "idle", working: false, aborting: false };
