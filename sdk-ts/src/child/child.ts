/** A program started as a child process, in a process group of its own (on Windows: with all that it starts). */

import { type ChildProcessWithoutNullStreams, spawn as start } from "node:child_process";

import type { Child, Exit, Transport } from "../transport.js";
import { pause, within } from "../timer.js";
import { SpawnError } from "./spawn_error.js";
import { StderrTail } from "./stderr.js";
import { webReadable, webWritable } from "./streams.js";
import { endTree, windowsEnvironment, windowsLaunch } from "./windows.js";

/** What to start, and how to end it. */
export interface ChildOptions {
  /** The working directory; by default that of this process. */
  readonly cwd?: string | undefined;
  /** Variables added to the inherited environment; those that are `undefined` are removed from it. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** How many bytes of the end of stderr are kept; 64 KiB by default. */
  readonly stderrTailBytes?: number | undefined;
  /** How long the process group may take to end after its stdin was closed, in milliseconds; 2000 by default. */
  readonly eofGrace?: number | undefined;
  /** How long the process group may take to end after SIGTERM, in milliseconds; 2000 by default. Windows has no SIGTERM. */
  readonly termGrace?: number | undefined;
  /** Called with each line of stderr. */
  readonly onStderrLine?: ((line: string) => void) | undefined;
}

/** How long a killed group is waited for, in milliseconds. Only a process stuck in the kernel takes longer. */
const KILL_WAIT = 2000;
/** How soon, and then how often at most, a group without its leader is looked at, in milliseconds. */
const FIRST_LOOK = 2;
const LAST_LOOK = 50;

/** The groups of children that are not over, to be killed when this process exits. */
const groups = new Set<number>();

process.on("exit", () => {
  for (const group of groups) signal(group, "SIGKILL");
});

const IS_WINDOWS = process.platform === "win32";

/**
 * Sends a signal to a group (0: only looks). Says whether there is such a group. Windows has no groups: there only SIGKILL
 * does anything, to a process and what it started, as long as that process lives.
 */
function signal(group: number, name: NodeJS.Signals | 0): boolean {
  if (IS_WINDOWS) return name === "SIGKILL" && endTree(group);
  try {
    return process.kill(-group, name);
  } catch {
    return false;
  }
}

/**
 * Starts a program.
 *
 * Fails with a {@link SpawnError} where the program cannot be started.
 */
export async function spawnChild(command: readonly string[], options: ChildOptions = {}): Promise<Transport> {
  const [program = "", ...given] = command;
  const child = await new Promise<ChildProcessWithoutNullStreams>((resolve, reject) => {
    const fail = (error: unknown): void => reject(new SpawnError(program, options.cwd, error));
    try {
      const env = IS_WINDOWS ? windowsEnvironment(process.env, options.env ?? {}) : { ...process.env, ...options.env };
      const { file, args, verbatim } = IS_WINDOWS
        ? windowsLaunch(program, given, env, options.cwd ?? process.cwd())
        : { file: program, args: given, verbatim: false };
      const started = start(file, args, {
        cwd: options.cwd,
        env,
        // A group of its own: a terminal's Ctrl-C does not reach it, and all of it can be ended. On Windows this would
        // open a window.
        detached: !IS_WINDOWS,
        windowsHide: true,
        windowsVerbatimArguments: verbatim,
        stdio: ["pipe", "pipe", "pipe"],
      });
      started.once("spawn", () => {
        started.off("error", fail);
        // Failures to signal are seen where the signal is sent.
        started.on("error", () => undefined);
        resolve(started);
      });
      started.once("error", fail);
    } catch (error) {
      fail(error);
    }
  });
  return {
    readable: webReadable(child.stdout),
    writable: webWritable(child.stdin),
    child: new OwnedChild(child, options),
  };
}

/** Owns a child from its start to its end. What a leader that ended by itself left in its group is ended too. */
class OwnedChild implements Child {
  readonly id: number;
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #eofGrace: number;
  readonly #termGrace: number;
  #over: Promise<Exit> | undefined;

  constructor(process: ChildProcessWithoutNullStreams, options: ChildOptions) {
    this.id = process.pid ?? 0;
    this.#process = process;
    this.#eofGrace = options.eofGrace ?? 2000;
    this.#termGrace = options.termGrace ?? 2000;
    groups.add(this.id);
    const stderr = new StderrTail(options.stderrTailBytes ?? 64 * 1024, options.onStderrLine);
    stderr.drain(process.stderr);
    this.exited = new Promise((resolve) => {
      process.once("exit", (code, signal) => {
        // What was written to stderr before the end is read in this turn of the event loop or the next.
        setImmediate(() => resolve({ code, signal, stderrTail: stderr.text() }));
        void this.shutdown();
      });
    });
  }

  shutdown(): Promise<Exit> {
    this.#over ??= this.#end();
    return this.#over;
  }

  async #end(): Promise<Exit> {
    this.#process.stdin.end();
    if (!(await this.#settles(this.#eofGrace))) {
      signal(this.id, "SIGTERM");
      if (IS_WINDOWS || !(await this.#settles(this.#termGrace))) {
        signal(this.id, "SIGKILL");
        await this.#settles(KILL_WAIT);
      }
    }
    groups.delete(this.id);
    // Children that left the group may hold the pipes: nobody waits for them.
    this.#process.stderr.destroy();
    const known = await within(LAST_LOOK, this.exited);
    return known ? this.exited : { code: null, signal: null, stderrTail: "" };
  }

  /** Waits until leader and group have ended; says false where they have not in time. */
  async #settles(grace: number): Promise<boolean> {
    const deadline = Date.now() + grace;
    let look = FIRST_LOOK;
    let led = this.#process.exitCode === null && this.#process.signalCode === null;
    while (led || signal(this.id, 0)) {
      const left = deadline - Date.now();
      if (left <= 0) return false;
      if (led) await within(left, this.exited);
      else await pause(Math.min(look, left));
      led = this.#process.exitCode === null && this.#process.signalCode === null;
      look = Math.min(LAST_LOOK, look * 2);
    }
    return true;
  }
}
