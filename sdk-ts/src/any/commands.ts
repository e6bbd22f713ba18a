/** The neutral commands as methods. */

import type { Message, Model, SlashCommand } from "../ui.js";
import type { Forked, Intent, KeptSession, Results, ShellResult, State, Stats, Words } from "./results.js";

/**
 * What can be asked of an agent of any dialect. Each fails with a `NotInDialectError` before anything is sent where the
 * agent's dialect has no command for it.
 */
export abstract class Commands {
  /** Carries out an intent with neutral parameters, and gives its neutral results. */
  abstract call(intent: Intent, given?: Readonly<Record<string, unknown>>): Promise<Results>;

  /** Sends words to the run that is going on. */
  async steer(words: Words): Promise<Results["outcome"]> {
    return (await this.call("steer", given(words))).outcome;
  }

  /** Queues words that the agent reads when it would stop. */
  async followUp(words: Words): Promise<Results["outcome"]> {
    return (await this.call("followUp", given(words))).outcome;
  }

  /** Stops the run that is going on. */
  async abort(): Promise<void> {
    await this.call("abort");
  }

  /** Takes back what waits in the queues. */
  async clearQueue(): Promise<{ steering: readonly string[]; followUp: readonly string[] }> {
    const { steering = [], followUp = [] } = await this.call("clearQueue");
    return { steering, followUp };
  }

  /** Starts a new session. Gives false where an extension of the agent prevented it. */
  async newSession(): Promise<boolean> {
    return (await this.call("newSession")).cancelled !== true;
  }

  /** Opens a session that is kept, by its file where the state has one, else by its id. */
  async openSession(session: string): Promise<boolean> {
    return (await this.call("openSession", { session })).cancelled !== true;
  }

  /** The sessions that are kept. */
  async listSessions(): Promise<readonly KeptSession[]> {
    return (await this.call("listSessions")).sessions ?? [];
  }

  /** Deletes a session that is kept. */
  async deleteSession(session: string): Promise<void> {
    await this.call("deleteSession", { session });
  }

  /** Goes on in a copy of the session. */
  async cloneSession(): Promise<boolean> {
    return (await this.call("cloneSession")).cancelled !== true;
  }

  /** Goes on from an earlier place of the conversation. */
  fork(entry: string): Promise<Forked> {
    return this.call("fork", { entry });
  }

  /** The places from which a fork can be made. */
  async forkPoints(): Promise<readonly { readonly id: string; readonly text: string }[]> {
    return (await this.call("forkPoints")).points ?? [];
  }

  /** What the agent is doing, and with which settings. */
  async state(): Promise<State> {
    return (await this.call("state")) as unknown as State;
  }

  /** The messages of the conversation; `conversation` has them too, once they were asked for. */
  async messages(): Promise<readonly Message[]> {
    return (await this.call("messages")).messages ?? [];
  }

  /** The text of the model's last message. */
  async lastText(): Promise<string | undefined> {
    return (await this.call("lastText")).text;
  }

  /** Tokens and cost of the session. */
  async stats(): Promise<Stats> {
    return (await this.call("stats")) as unknown as Stats;
  }

  /** The models that can be chosen. */
  async models(): Promise<readonly Model[]> {
    return (await this.call("models")).models ?? [];
  }

  /** Chooses a model. */
  async setModel(provider: string, id: string): Promise<void> {
    await this.call("setModel", { provider, id });
  }

  /** Chooses the next model, and gives it. */
  async cycleModel(): Promise<Model | undefined> {
    return (await this.call("cycleModel")).model;
  }

  /** The thinking levels that can be chosen. */
  async thinkingLevels(): Promise<readonly string[]> {
    return (await this.call("thinkingLevels")).levels ?? [];
  }

  /** Chooses a thinking level. */
  async setThinking(level: string): Promise<void> {
    await this.call("setThinking", { level });
  }

  /** Chooses the next thinking level, and gives it. */
  async cycleThinking(): Promise<string | undefined> {
    return (await this.call("cycleThinking")).thinkingLevel;
  }

  /** Says how steering words are handed over: all at once or one at a time. */
  async setSteeringMode(mode: string): Promise<void> {
    await this.call("setSteeringMode", { mode });
  }

  /** Says how follow-up words are handed over: all at once or one at a time. */
  async setFollowUpMode(mode: string): Promise<void> {
    await this.call("setFollowUpMode", { mode });
  }

  /** Says when steering words reach the run. */
  async setInterruptMode(mode: string): Promise<void> {
    await this.call("setInterruptMode", { mode });
  }

  /** Puts a summary in the place of older messages, and gives it where the agent does. */
  async compact(instructions?: string): Promise<Message | undefined> {
    return (await this.call("compact", { instructions })).message;
  }

  /** Says whether the agent makes summaries by itself. */
  async setAutoCompaction(enabled: boolean): Promise<void> {
    await this.call("setAutoCompaction", { enabled });
  }

  /** Says whether failed requests to the model are made again. */
  async setAutoRetry(enabled: boolean): Promise<void> {
    await this.call("setAutoRetry", { enabled });
  }

  /** Ends the wait before a request that is made again, and the run with it. */
  async abortRetry(): Promise<void> {
    await this.call("abortRetry");
  }

  /** Runs a shell command of the user; its output enters the conversation. */
  bash(command: string): Promise<ShellResult> {
    return this.call("bash", { command });
  }

  /** Stops the user's shell command. */
  async abortBash(): Promise<void> {
    await this.call("abortBash");
  }

  /** Writes the conversation as a page, and gives the file. */
  async export(path?: string): Promise<string | undefined> {
    return (await this.call("export", { path })).path;
  }

  /** Gives the session a name. */
  async setSessionName(name: string): Promise<void> {
    await this.call("setSessionName", { name });
  }

  /** What a prompt can invoke with `/name`. */
  async commands(): Promise<readonly SlashCommand[]> {
    return (await this.call("commands")).commands ?? [];
  }

  /** What the agent has still to do. */
  async todos(): Promise<readonly { readonly text: string; readonly status: string }[]> {
    return (await this.call("todos")).todos ?? [];
  }
}

/** Words as neutral parameters. */
export function given(words: Words): Record<string, unknown> {
  if (typeof words === "string") return { text: words };
  const { images, ...rest } = words;
  return images === undefined ? rest : { ...rest, images: images.map((image) => ({ type: "image", ...image })) };
}
