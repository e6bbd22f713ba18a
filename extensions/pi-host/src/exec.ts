/** `pi.exec`: runs a program on the machine of the agent. */

import { spawn, spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { constants } from "node:os";

/** Options of a program. */
export interface ExecOptions {
  /** Signal that ends the program. */
  signal?: AbortSignal;
  /** Time limit in milliseconds. */
  timeout?: number;
  /** Working directory; by default that of the agent. */
  cwd?: string;
}

/** Result of a program. */
export interface ExecResult {
  /** Output; only the end if it exceeds four million characters. */
  stdout: string;
  stderr: string;
  /** Exit code; 128 plus the signal's number after a signal, and 1 if the program could not be started. */
  code: number;
  /** `true` if the signal or the timeout ended the program. */
  killed: boolean;
}

/** Time in milliseconds that a program has to end before it is killed. */
const GRACE = 5000;

/**
 * Time limit in milliseconds for reading the last output of an ended program. Other processes may hold its
 * pipes open.
 */
const PIPE_TIMEOUT = 100;

/** Limit of the retained end of a stream in characters. */
const MAX_OUTPUT = 4 * 1024 * 1024;

/**
 * Offset of exit codes for programs that a signal ended, as in shells. The number of the signal is added.
 */
const SIGNALLED = 128;

/** Runs a program without a shell and without stdin. Never fails; the result describes errors. */
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
      timers.push(setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), PIPE_TIMEOUT));
    };
    const end = (): void => {
      if (result.killed) return;
      result.killed = true;
      below = child.pid === undefined ? below : descendants(child.pid);
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
    child.stdout.setEncoding("utf8").on("data", (text: string) => (result.stdout = appendOutput(result.stdout, text)));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (result.stderr = appendOutput(result.stderr, text)));
    child.on("exit", () => result.killed && release());
    child.on("close", (code, signal) => done(code ?? (signal === null ? 1 : SIGNALLED + constants.signals[signal])));
    child.on("error", () => done(1));
    options.signal?.addEventListener("abort", end, { once: true });
    if (options.signal?.aborted === true) end();
    if (options.timeout !== undefined && options.timeout > 0) timers.push(setTimeout(end, options.timeout));
  });
}

/** Appends text. Occasionally cuts the result to the retained end. */
function appendOutput(kept: string, text: string): string {
  const both = kept + text;
  return both.length > 2 * MAX_OUTPUT ? tail(both) : both;
}

function tail(text: string): string {
  return text.length > MAX_OUTPUT ? text.slice(-MAX_OUTPUT) : text;
}

/**
 * Returns the descendants of a process with their start times, which distinguish reused process ids. The
 * descendants are in the process group of this process, so they end at the latest together with the agent.
 */
function descendants(ancestor: number): Map<number, string> {
  const all = processes();
  const found = new Map<number, string>();
  for (let below = [ancestor]; below.length > 0; ) {
    const next = all.filter(({ parent, pid }) => below.includes(parent) && !found.has(pid));
    for (const { pid, startTime } of next) found.set(pid, startTime);
    below = next.map(({ pid }) => pid);
  }
  return found;
}

function signalAll(targets: ReadonlyMap<number, string>, signal: NodeJS.Signals): void {
  if (targets.size === 0) return;
  for (const { pid, startTime } of processes()) {
    if (targets.get(pid) !== startTime) continue;
    try {
      process.kill(pid, signal);
    } catch {
      // The process has already ended.
    }
  }
}

interface ProcessInfo {
  pid: number;
  parent: number;
  startTime: string;
}

/** Returns the current processes of this machine. */
function processes(): ProcessInfo[] {
  if (process.platform === "linux") return readdirSync("/proc").flatMap(readProcess);
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,lstart="], { encoding: "utf8" });
  return (stdout ?? "").split("\n").flatMap((line) => {
    const [, pid, parent, startTime] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return startTime === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), startTime }];
  });
}

function readProcess(name: string): ProcessInfo[] {
  if (!/^\d+$/.test(name)) return [];
  try {
    const stat = readFileSync(`/proc/${name}/stat`, "utf8");
    // The fields after the name, which may contain any character: the state, the parent, and, as the
    // twentieth field, the start time.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return [{ pid: Number(name), parent: Number(fields[1]), startTime: fields[19] ?? "" }];
  } catch {
    return [];
  }
}
