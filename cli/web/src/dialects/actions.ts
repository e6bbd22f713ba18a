/**
 * Actions of the page, independent of the dialect. Another file in this folder contains the commands of each
 * dialect.
 */

import type { Conversation } from "agentese/ui";

import type { SessionInfo } from "../connection.js";

/** Command with its parameters. */
export interface Call {
  readonly command: string;
  readonly params: object;
}

/** Picture that is attached to a prompt. */
export interface Picture {
  readonly mimeType: string;
  /** Bytes of the picture in base64. */
  readonly data: string;
}

/** Delivery of user input to the agent: as a prompt, or during a run. */
export type Delivery = "prompt" | "steer" | "followUp";

/** Actions with their arguments. A dialect without a command for an action omits it. */
export interface ActionArguments {
  prompt: [text: string, pictures: readonly Picture[], delivery: Delivery];
  abort: [];
  compact: [instructions: string];
  newSession: [];
  openSession: [path: string, id: string];
  rename: [name: string];
  fork: [entry: string];
  forkPoints: [];
  tree: [];
  models: [];
  setModel: [provider: string, id: string];
  setThinking: [level: string];
  thinkingLevels: [];
  shell: [command: string];
  abortShell: [];
  abortRetry: [];
  clearQueue: [];
  exportPage: [];
  commands: [];
  stats: [];
  state: [];
  history: [];
  sessions: [];
}

export type Action = keyof ActionArguments;

/** Command that carries out an action. Its parameters may depend on the current conversation. */
export interface ActionCommand<K extends Action = Action> {
  readonly command: string;
  params(...args: [...ActionArguments[K], at: Conversation]): object;
}

export type Actions = { readonly [K in Action]: ActionCommand<K> };

/** Properties of the page that depend on the dialect. */
export interface Dialect {
  readonly actions: Partial<Actions>;
  /** `true` if prompts can carry pictures. */
  readonly pictures: boolean;
  /** Ways to deliver user input while the agent works. */
  readonly deliveries: readonly Delivery[];
  /** Thinking levels, if no command lists them. */
  readonly levels: readonly string[];
  /** `true` if only user messages can be forked. The agent then returns the text of the message for editing. */
  readonly forkReturnsText: boolean;
  /** Identifier with which a session is opened: the path of its file, or its id. */
  readonly opensBy: "file" | "id";
  /**
   * Returns the sessions in the response to the command for `sessions`. Without this function, the server lists
   * the session files in the dialect's home.
   */
  parseSessions?(data: unknown): readonly SessionInfo[];
  /**
   * Members that repeat the content of earlier events, by event type. A stream of changes alone would omit
   * them.
   */
  readonly repeated?: Readonly<Record<string, readonly string[]>>;
  /** Opens the first session of a new tab, in dialects with several sessions per connection. */
  openFirstSession?(sendCommand: (call: Call) => Promise<unknown>): Promise<void>;
}

/** Titles of the actions, as displayed in the list of unavailable actions. */
export const TITLES: Readonly<Partial<Record<Action, string>>> = {
  abort: "Stopping the agent",
  compact: "Compaction",
  newSession: "New session",
  openSession: "Opening another session",
  rename: "Naming the session",
  fork: "Fork",
  forkPoints: "List of fork points",
  tree: "Session tree",
  models: "List of models",
  setModel: "Choosing a model",
  setThinking: "Thinking level",
  shell: "Shell commands with !",
  clearQueue: "Clearing the queue",
  exportPage: "Export as a page",
  commands: "Slash commands",
  stats: "Session statistics",
};
