/** What the page asks of an agent, whatever its dialect: the vocabulary of a dialect stands in its file beside this one. */

import type { Conversation } from "agentese/ui";

import type { Listed } from "../link.js";

/** A command with its parameters. */
export interface Call {
  readonly command: string;
  readonly params: object;
}

/** A picture that goes with a prompt. */
export interface Picture {
  readonly mimeType: string;
  /** Base64. */
  readonly data: string;
}

/** How a prompt reaches an agent that is at work. */
export type Delivery = "prompt" | "steer" | "followUp";

/** What can be done, with what it needs. Each may be missing where the dialect has no command for it. */
export interface Needs {
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

export type Action = keyof Needs;

/** The command for an action, and its parameters, which may be made of the conversation as it stands. */
export interface Act<K extends Action = Action> {
  readonly command: string;
  params(...needs: [...Needs[K], at: Conversation]): object;
}

export type Actions = { readonly [K in Action]: Act<K> };

/** What a dialect does its own way. */
export interface Dialect {
  readonly actions: Partial<Actions>;
  /** Whether prompts carry pictures. */
  readonly pictures: boolean;
  /** How prompts reach an agent at work. */
  readonly deliveries: readonly Delivery[];
  /** Thinking levels, where no command lists them. */
  readonly levels: readonly string[];
  /** Whether a fork starts at a message of the user alone, whose text comes back to be changed. */
  readonly forkReturnsText: boolean;
  /** What names a session that is opened: its file, or its id. */
  readonly opensBy: "file" | "id";
  /** The sessions in the answer to `sessions`. Without that command the server lists the files of the dialect's home. */
  listed?(data: unknown): readonly Listed[];
  /** Of events that tell a message again and again: the members that a delta-only stream leaves out. */
  readonly repeated?: Readonly<Record<string, readonly string[]>>;
  /** The session that a new tab shows, where the agent has several at a time; sent first, when none is known. */
  begin?(ask: (call: Call) => Promise<unknown>): Promise<void>;
}

/** What each control is called where the page says that it is missing. */
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
