/** `pi.exec`: runs a program beside the agent. */

import { spawn, spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { constants } from "node:os";

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
  /** What it wrote; of more than four million characters the end. */
  stdout: string;
  stderr: string;
  /** The exit code; 128 and the number of the signal if one ended it, and 1 if it could not be started. */
  code: number;
  /** Whether it was ended by the signal or the timeout. */
  killed: boolean;
}

/** How long a program has after it was asked to end, in milliseconds. */
const GRACE = 5000;

/** How long the last words of a program that was ended are waited for, in milliseconds: others may hold its pipes. */
const LAST_WORDS = 100;

/** How much of a stream is kept, in characters: its end. */
const KEPT = 4 * 1024 * 1024;

/** Added to the number of the signal that ended a program, as shells do. */
const SIGNALLED = 128;

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
    let below: ReadonlyMap<number, string> = new Map();
    const release = (): void => {
      signalAll(below, "SIGKILL");
      timers.push(setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), LAST_WORDS));
    };
    const end = (): void => {
      if (result.killed) return;
      result.killed = true;
      below = child.pid === undefined ? below : family(child.pid);
      child.kill("SIGTERM");
      signalAll(below, "SIGTERM");
      if (child.exitCode !== null || child.signalCode !== null) return release();
      timers.push(setTimeout(() => child.kill("SIGKILL"), GRACE));
    };
    const done = (code: number): void => {
      timers.forEach(clearTimeout);
      options.signal?.removeEventListener("abort", end);
      resolve({ ...result, stdout: tail(result.stdout), stderr: tail(result.stderr), code });
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (result.stdout = grown(result.stdout, text)));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (result.stderr = grown(result.stderr, text)));
    child.on("exit", () => result.killed && release());
    child.on("close", (code, signal) => done(code ?? (signal === null ? 1 : SIGNALLED + constants.signals[signal])));
    child.on("error", () => done(1));
    options.signal?.addEventListener("abort", end, { once: true });
    if (options.signal?.aborted === true) end();
    if (options.timeout !== undefined && options.timeout > 0) timers.push(setTimeout(end, options.timeout));
  });
}

/** What is kept, now and then cut to what is wanted in the end. */
function grown(kept: string, text: string): string {
  const both = kept + text;
  return both.length > 2 * KEPT ? tail(both) : both;
}

function tail(text: string): string {
  return text.length > KEPT ? text.slice(-KEPT) : text;
}

/**
 * The processes below one, with the time of their start, by which one is told from another with its number. They stay in
 * the process group of this process, and end with the agent at the latest.
 */
function family(ancestor: number): Map<number, string> {
  const all = processes();
  const found = new Map<number, string>();
  for (let below = [ancestor]; below.length > 0; ) {
    const next = all.filter(({ parent, pid }) => below.includes(parent) && !found.has(pid));
    for (const { pid, since } of next) found.set(pid, since);
    below = next.map(({ pid }) => pid);
  }
  return found;
}

function signalAll(family: ReadonlyMap<number, string>, signal: NodeJS.Signals): void {
  if (family.size === 0) return;
  for (const { pid, since } of processes()) {
    if (family.get(pid) !== since) continue;
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}

interface Listed {
  pid: number;
  parent: number;
  since: string;
}

/** The processes of this machine, as the system lists them now. */
function processes(): Listed[] {
  if (process.platform === "linux") return readdirSync("/proc").flatMap(listed);
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,lstart="], { encoding: "utf8" });
  return (stdout ?? "").split("\n").flatMap((line) => {
    const [, pid, parent, since] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return since === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), since }];
  });
}

function listed(name: string): Listed[] {
  if (!/^\d+$/.test(name)) return [];
  try {
    const stat = readFileSync(`/proc/${name}/stat`, "utf8");
    // Behind the name, which may hold anything: the state, the parent, and as the twentieth the start.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return [{ pid: Number(name), parent: Number(fields[1]), since: fields[19] ?? "" }];
  } catch {
    return [];
  }
}
