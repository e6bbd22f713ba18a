/** `pi.exec`: runs a program beside the agent. */

import { spawn } from "node:child_process";

/** How a program is run. */
export interface ExecOptions {
  /** Ends the program. */
  signal?: AbortSignal;
  /** After how many milliseconds it is ended. */
  timeout?: number;
  /** The working directory; the agent's where it is missing. */
  cwd?: string;
}

/** What a program did. */
export interface ExecResult {
  stdout: string;
  stderr: string;
  /** The exit code; 0 where a signal ended it, and 1 where it could not be started. */
  code: number;
  /** Whether it was ended by the signal or the timeout. */
  killed: boolean;
}

/** How long a program has after it was asked to end, in milliseconds. */
const GRACE = 5000;

/** Runs a program without a shell and with no stdin. Never fails: what went wrong is in the result. */
export async function exec(
  command: string,
  args: readonly string[],
  cwd: string,
  options: ExecOptions = {},
): Promise<ExecResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    const result: ExecResult = { stdout: "", stderr: "", code: 0, killed: false };
    const timers: NodeJS.Timeout[] = [];
    const end = (): void => {
      if (result.killed) return;
      result.killed = true;
      child.kill("SIGTERM");
      timers.push(setTimeout(() => child.kill("SIGKILL"), GRACE));
    };
    const done = (code: number): void => {
      timers.forEach(clearTimeout);
      options.signal?.removeEventListener("abort", end);
      resolve({ ...result, code });
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (result.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (result.stderr += text));
    child.on("close", (code) => done(code ?? 0));
    child.on("error", () => done(1));
    options.signal?.addEventListener("abort", end, { once: true });
    if (options.signal?.aborted === true) end();
    if (options.timeout !== undefined && options.timeout > 0) timers.push(setTimeout(end, options.timeout));
  });
}
