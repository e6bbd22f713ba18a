/** Neutral commands as methods. */

import type { Message, Model, SlashCommand } from "../ui.js";
import type { ForkResult, Intent, Results, ShellResult, State, Stats, StoredSession, UserInput } from "./results.js";

/**
 * Neutral commands for an agent of any dialect. A method fails with a `NotInDialectError`, before anything is
 * sent, if the dialect has no corresponding command.
 */
export abstract class Commands {
  /** Executes an intent with neutral parameters and returns its neutral results. */
  abstract call(intent: Intent, given?: Readonly<Record<string, unknown>>): Promise<Results>;

  /** Sends user input to the current run. */
  async steer(input: UserInput): Promise<Results["outcome"]> {
    return (await this.call("steer", inputParams(input))).outcome;
  }

  /** Queues user input for the moment at which the agent would otherwise stop. */
  async followUp(input: UserInput): Promise<Results["outcome"]> {
    return (await this.call("followUp", inputParams(input))).outcome;
  }

  /** Aborts the current run. */
  async abort(): Promise<void> {
    await this.call("abort");
  }

  /** Clears the queues and returns their content. */
  async clearQueue(): Promise<{ steering: readonly string[]; followUp: readonly string[] }> {
    const { steering = [], followUp = [] } = await this.call("clearQueue");
    return { steering, followUp };
  }

  /** Starts a new session. Returns `false` if an extension of the agent prevented it. */
  async newSession(): Promise<boolean> {
    return (await this.call("newSession")).cancelled !== true;
  }

  /**
   * Opens a stored session by the path of its file, or by its id if {@link state} reports no file. Returns
   * `false` if an extension prevented it.
   */
  async openSession(session: string): Promise<boolean> {
    return (await this.call("openSession", { session })).cancelled !== true;
  }

  /** Returns the stored sessions. */
  async listSessions(): Promise<readonly StoredSession[]> {
    return (await this.call("listSessions")).sessions ?? [];
  }

  /** Deletes a stored session. */
  async deleteSession(session: string): Promise<void> {
    await this.call("deleteSession", { session });
  }

  /** Continues in a copy of the session. Returns `false` if an extension prevented it. */
  async cloneSession(): Promise<boolean> {
    return (await this.call("cloneSession")).cancelled !== true;
  }

  /** Continues in a new session with the conversation before an earlier entry. */
  fork(entry: string): Promise<ForkResult> {
    return this.call("fork", { entry });
  }

  /** Returns the entries from which a fork is possible. */
  async forkPoints(): Promise<readonly { readonly id: string; readonly text: string }[]> {
    return (await this.call("forkPoints")).points ?? [];
  }

  /** Returns the current activity and the settings of the agent. */
  async state(): Promise<State> {
    return (await this.call("state")) as unknown as State;
  }

  /** Returns the messages of the conversation. `conversation` then contains them too. */
  async messages(): Promise<readonly Message[]> {
    return (await this.call("messages")).messages ?? [];
  }

  /** Returns the text of the model's last message. */
  async lastText(): Promise<string | undefined> {
    return (await this.call("lastText")).text;
  }

  /** Returns tokens and cost of the session. */
  async stats(): Promise<Stats> {
    return (await this.call("stats")) as unknown as Stats;
  }

  /** Returns the available models. */
  async models(): Promise<readonly Model[]> {
    return (await this.call("models")).models ?? [];
  }

  /** Selects a model. */
  async setModel(provider: string, id: string): Promise<void> {
    await this.call("setModel", { provider, id });
  }

  /** Selects the next model and returns it. */
  async cycleModel(): Promise<Model | undefined> {
    return (await this.call("cycleModel")).model;
  }

  /** Returns the available thinking levels. */
  async thinkingLevels(): Promise<readonly string[]> {
    return (await this.call("thinkingLevels")).levels ?? [];
  }

  /** Selects a thinking level. */
  async setThinking(level: string): Promise<void> {
    await this.call("setThinking", { level });
  }

  /** Selects the next thinking level and returns it. */
  async cycleThinking(): Promise<string | undefined> {
    return (await this.call("cycleThinking")).thinkingLevel;
  }

  /** Sets the delivery of steering input: all at once or one at a time. */
  async setSteeringMode(mode: string): Promise<void> {
    await this.call("setSteeringMode", { mode });
  }

  /** Sets the delivery of follow-up input: all at once or one at a time. */
  async setFollowUpMode(mode: string): Promise<void> {
    await this.call("setFollowUpMode", { mode });
  }

  /** Sets the moment at which steering input reaches the run. */
  async setInterruptMode(mode: string): Promise<void> {
    await this.call("setInterruptMode", { mode });
  }

  /** Replaces older messages by a summary. Returns the summary if the agent sends it. */
  async compact(instructions?: string): Promise<Message | undefined> {
    return (await this.call("compact", { instructions })).message;
  }

  /** Enables or disables automatic compaction. */
  async setAutoCompaction(enabled: boolean): Promise<void> {
    await this.call("setAutoCompaction", { enabled });
  }

  /** Enables or disables automatic retries of failed model requests. */
  async setAutoRetry(enabled: boolean): Promise<void> {
    await this.call("setAutoRetry", { enabled });
  }

  /** Ends the pause before a retry, and the run itself. */
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

  /** Exports the conversation as a page and returns its path. */
  async export(path?: string): Promise<string | undefined> {
    return (await this.call("export", { path })).path;
  }

  /** Sets the name of the session. */
  async setSessionName(name: string): Promise<void> {
    await this.call("setSessionName", { name });
  }

  /** Returns the commands that a prompt can invoke with `/name`. */
  async commands(): Promise<readonly SlashCommand[]> {
    return (await this.call("commands")).commands ?? [];
  }

  /** Returns the open tasks of the agent. */
  async todos(): Promise<readonly { readonly text: string; readonly status: string }[]> {
    return (await this.call("todos")).todos ?? [];
  }
}

/** Converts user input into neutral parameters. */
export function inputParams(input: UserInput): Record<string, unknown> {
  if (typeof input === "string") return { text: input };
  const { images, ...rest } = input;
  return images === undefined ? rest : { ...rest, images: images.map((image) => ({ type: "image", ...image })) };
}
