/** What an agent and its user have said and done, in a form that no dialect has: plain data, never changed in place. */

import type { JsonObject, JsonValue } from "../generated/types.js";

/** A conversation as far as its frames have told it. Plain JSON: it can be kept and gone on with. */
export interface Conversation {
  readonly dialect: string;
  /** In the order in which they came, those that are no longer in the model's context among them. */
  readonly messages: readonly Message[];
  /**
   * False where the agent has messages that no frame has told: the session was replaced, or was there before. The answer
   * of the history command tells them.
   */
  readonly complete: boolean;
  /** The user's words that are not in the conversation yet, those in the queues among them. */
  readonly waiting: readonly Waiting[];
  readonly run: Run;
  /** Tokens and cost of the whole session, as far as they were told. */
  readonly usage: Usage;
  /** How full the model's context is. */
  readonly context?: { readonly tokens?: number; readonly window?: number };
  /** Questions that wait for an answer. */
  readonly dialogs: readonly OpenQuestion[];
  /** The client's own shell commands that are running. */
  readonly shells: readonly Shell[];
  /** The last hundred notices: notifications, refused commands, failures of extensions. */
  readonly notices: readonly Notice[];
  /** Entries of the status line, by key. */
  readonly status: Readonly<Record<string, string>>;
  /** Blocks of lines beside the editor, by key. */
  readonly widgets: Readonly<Record<string, Widget>>;
  /** The title of the window. */
  readonly title?: string;
  /** Text for the editor; `count` grows with each. */
  readonly draft?: { readonly text: string; readonly count: number };
  readonly session: { readonly id?: string; readonly file?: string; readonly name?: string; readonly directory?: string };
  readonly model?: Model;
  readonly thinkingLevel?: string;
  /** Settings by name, such as `steeringMode` and `autoCompaction`, as far as they were told. */
  readonly settings: Readonly<Record<string, JsonValue>>;
  /** What a prompt can invoke with `/name`. */
  readonly commands?: readonly SlashCommand[];
  readonly models?: readonly Model[];
  /** The user's messages from which a fork can be made. */
  readonly forkPoints?: readonly { readonly id: string; readonly text: string }[];
  readonly todos?: readonly { readonly text: string; readonly status: string }[];
  /** Subagents. */
  readonly tasks: readonly Task[];
  /** What the fold has to remember; of no use to others. */
  readonly internal: Internal;
}

/** A message of the conversation. */
export interface Message {
  /** A name that stays the same, for rendering. */
  readonly key: string;
  /** The agent's own id, where it has one. */
  readonly id?: string;
  readonly role: "user" | "assistant" | "tool" | "system" | "summary" | "shell" | "note";
  /** The dialect's own word, where `role` is coarser. */
  readonly kind?: string;
  readonly state: "growing" | "done" | "failed" | "aborted";
  readonly blocks: readonly Block[];
  readonly model?: string;
  readonly provider?: string;
  /** The wire format of the model's API, in the agent's word. */
  readonly api?: string;
  readonly usage?: Usage;
  readonly stopReason?: string;
  readonly error?: string;
  /** In milliseconds since the epoch, as the agent says. */
  readonly time?: number;
  /** With the role `tool`: the call that this is the result of. The block of the call has the result too. */
  readonly callId?: string;
  readonly name?: string;
  /** With the role `shell`; what it wrote is in `blocks`. */
  readonly command?: string;
  readonly exitCode?: number;
  readonly cancelled?: boolean;
  readonly truncated?: boolean;
  /** With the role `summary`. */
  readonly tokensBefore?: number;
  readonly details?: JsonValue;
  /** True where it is no longer in the model's context: an answer that was tried again, what a compaction took away. */
  readonly gone?: boolean;
  /** Whether it is not meant to be shown. */
  readonly hidden?: boolean;
}

/** A part of a message. */
export type Block =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "thinking";
      readonly text: string;
      readonly redacted?: boolean;
      /** What the provider wants back with it; of no meaning to others. */
      readonly signature?: string;
    }
  | { readonly type: "image"; readonly mimeType: string; readonly data: string }
  | { readonly type: "data"; readonly value: JsonValue }
  | ToolBlock;

/** A tool call of the model, with what the tool has done. */
export interface ToolBlock {
  readonly type: "tool";
  readonly callId: string;
  readonly name: string;
  /** Complete, or as far as the agent could read them. */
  readonly arguments?: JsonObject;
  /** Their JSON text as it comes, where the agent sends pieces only; see `readArguments`. */
  readonly argumentsText?: string;
  readonly state: "coming" | "running" | "done" | "failed" | "skipped";
  /** What the tool has shown so far. */
  readonly output?: readonly Block[];
  readonly result?: readonly Block[];
  /** Facts for a front end; their shape is the tool's own. */
  readonly details?: JsonValue;
  readonly durationMs?: number;
  /** A description for people, in one line. */
  readonly label?: string;
  /** What the provider wants back with it; of no meaning to others. */
  readonly signature?: string;
  /** What a subagent said that the tool set to work. */
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
  /** Of one message: what the cost is made of, as the agent writes it. */
  readonly costs?: JsonValue;
}

/** What the agent is doing. */
export interface Run {
  readonly state: "idle" | "working" | "retrying" | "compacting" | "aborting";
  readonly working: boolean;
  readonly aborting: boolean;
  readonly retry?: { readonly attempt?: number; readonly maxAttempts?: number; readonly delayMs?: number; readonly error?: string; readonly at?: number };
  readonly compaction?: { readonly reason?: string };
  /** What the agent says that it is doing. */
  readonly activity?: string;
  /** Why the last run failed. */
  readonly error?: string;
}

/** The user's words on their way into the conversation. */
export interface Waiting {
  readonly key: string;
  /** The id of the command that carries them. */
  readonly id?: JsonValue;
  readonly text: string;
  /** How many images go with them. */
  readonly images: number;
  readonly mode: "prompt" | "steer" | "followUp";
  readonly state: "sent" | "taken" | "queued";
}

/** A question that waits for an answer. */
export interface OpenQuestion {
  readonly key: string;
  readonly id: JsonValue;
  /** The dialog's wire name. */
  readonly method: string;
  readonly kind: "select" | "confirm" | "input" | "editor";
  readonly title?: string;
  readonly text?: string;
  readonly options?: readonly string[];
  readonly placeholder?: string;
  readonly prefill?: string;
  readonly secret?: boolean;
  /** After how many milliseconds the agent answers for itself. */
  readonly timeoutMs?: number;
  /** When it came, where the caller said so. */
  readonly at?: number;
}

/** A shell command of the client. */
export interface Shell {
  readonly key: string;
  readonly id?: JsonValue;
  readonly command: string;
  readonly output: string;
}

/** Something for the user to know. */
export interface Notice {
  readonly key: string;
  readonly level: "info" | "warning" | "error";
  readonly text: string;
  /** Who says so: an extension's file, a command's name. */
  readonly source?: string;
  readonly at?: number;
}

/** A block of lines beside the editor. */
export interface Widget {
  readonly lines: readonly string[];
  readonly placement?: string;
}

/** A model that can be chosen. */
export interface Model {
  readonly id: string;
  readonly provider?: string;
  readonly name?: string;
  /** The context window in tokens. */
  readonly window?: number;
  readonly reasoning?: boolean;
  /** The wire format of its API, in the agent's word. */
  readonly api?: string;
  /** The address of its API. */
  readonly baseUrl?: string;
  /** What can be put in: `text`, `image`. */
  readonly input?: readonly string[];
  /** The most tokens of one answer. */
  readonly maxTokens?: number;
  /** Prices in US dollars for a million tokens, as the agent writes them. */
  readonly prices?: JsonValue;
}

/** Something that a prompt can invoke with `/name`. */
export interface SlashCommand {
  readonly name: string;
  readonly description?: string;
  readonly source?: string;
}

/** A subagent. */
export interface Task {
  readonly id: string;
  readonly name?: string;
  readonly state: "running" | "done" | "failed";
  readonly [member: string]: JsonValue | undefined;
}

/** What the fold has to remember. */
export interface Internal {
  /** The number of the next key. */
  readonly next: number;
  /** Commands that are not answered yet, by their ids as JSON. */
  readonly sent: Readonly<Record<string, { readonly command: string; readonly params: JsonObject }>>;
  /** Messages of shell commands that were over during a run: they follow it. */
  readonly held: readonly Message[];
  /** Why the run that is going on fails, where nothing better follows. */
  readonly failure?: string;
}

/** A conversation in which nothing was said yet. */
export function begin(dialect: string): Conversation {
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

/** An agent that does nothing. */
export const IDLE: Run = { state: "idle", working: false, aborting: false };
