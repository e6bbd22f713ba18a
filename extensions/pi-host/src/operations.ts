/** Shell commands that an extension runs in place of the agent. */

import type { BashResult, UserBashHook } from "./protocol.js";

/** Execution of shell commands by an extension. */
export interface BashOperations {
  exec(
    command: string,
    cwd: string,
    options: { onData: (data: Buffer) => void; signal?: AbortSignal; timeout?: number; env?: NodeJS.ProcessEnv },
  ): Promise<{ exitCode: number | null }>;
}

/** Answer of an extension to a shell command of the user. */
export interface UserBashResult {
  operations?: BashOperations;
  result?: BashResult;
}

/** Limit of the retained output in bytes, equal to the limit of the agent's own shell. */
const MAX_OUTPUT = 50 * 1024;

/** Runs a command with the operations of an extension. Fails with their error. */
export async function runBash(operations: BashOperations, event: UserBashHook, signal: AbortSignal): Promise<BashResult> {
  const tail = new OutputTail();
  const { exitCode } = await operations.exec(event.command, event.cwd, { onData: (data) => tail.push(data), signal });
  return {
    output: tail.text(),
    ...(exitCode === null ? {} : { exitCode }),
    cancelled: signal.aborted,
    truncated: tail.truncated,
  };
}

/** Buffer that retains the end of an output. */
class OutputTail {
  truncated = false;
  #bytes = Buffer.alloc(0);

  push(data: Uint8Array): void {
    this.#bytes = Buffer.concat([this.#bytes, data]);
    if (this.#bytes.length <= MAX_OUTPUT) return;
    this.truncated = true;
    this.#bytes = this.#bytes.subarray(this.#bytes.length - MAX_OUTPUT);
  }

  text(): string {
    return this.#bytes.toString("utf8");
  }
}
