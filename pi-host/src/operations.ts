/** Shell commands that an extension runs itself, in the place of the agent. */

import type { BashResult, UserBashHook } from "./protocol.js";

/** How an extension runs shell commands. */
export interface BashOperations {
  exec(
    command: string,
    cwd: string,
    options: { onData: (data: Buffer) => void; signal?: AbortSignal; timeout?: number; env?: NodeJS.ProcessEnv },
  ): Promise<{ exitCode: number | null }>;
}

/** What an extension answers when the user runs a shell command. */
export interface UserBashResult {
  operations?: BashOperations;
  result?: BashResult;
}

/** As much of the output as is kept, in bytes: what the agent's own shell shows. */
const KEPT = 50 * 1024;

/** Runs a command by the operations of an extension. Fails as they fail. */
export async function runBash(operations: BashOperations, event: UserBashHook, signal: AbortSignal): Promise<BashResult> {
  const tail = new Tail();
  const { exitCode } = await operations.exec(event.command, event.cwd, { onData: (data) => tail.push(data), signal });
  return {
    output: tail.text(),
    ...(exitCode === null ? {} : { exitCode }),
    cancelled: signal.aborted,
    truncated: tail.truncated,
  };
}

/** The end of an output. */
class Tail {
  truncated = false;
  #bytes = Buffer.alloc(0);

  push(data: Uint8Array): void {
    this.#bytes = Buffer.concat([this.#bytes, data]);
    if (this.#bytes.length <= KEPT) return;
    this.truncated = true;
    this.#bytes = this.#bytes.subarray(this.#bytes.length - KEPT);
  }

  text(): string {
    return this.#bytes.toString("utf8");
  }
}
