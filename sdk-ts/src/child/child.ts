/** Program as a child process in its own process group; on Windows, with all its descendants. */

import { type ChildProcessWithoutNullStreams, spawn as start } from "node:child_process";

import type { Child, Exit, Transport } from "../transport.js";
import { pause, within } from "../timer.js";
import { SpawnError } from "./spawn_error.js";
import { StderrTail } from "./stderr.js";
import { webReadable, webWritable } from "./streams.js";
import { endTree, windowsEnvironment, windowsLaunch } from "./windows.js";

/** Options for the start and the end of a child process. */
export interface ChildOptions {
  /** Working directory; by default the one of this process. */
  readonly cwd?: string | undefined;
  /** Variables added to the inherited environment; a value `undefined` removes the variable. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Size of the retained end of stderr in bytes; 64 KiB by default. */
  readonly stderrTailBytes?: number | undefined;
  /** Time limit of the process group after the end of its stdin, in milliseconds; 2000 by default. */
  readonly eofGrace?: number | undefined;
  /**
   * Time limit of the process group after SIGTERM, in milliseconds; 2000 by default. Windows has no SIGTERM.
   */
  readonly termGrace?: number | undefined;
  /** Callback for each line of stderr. */
  readonly onStderrLine?: ((line: string) => void) | undefined;
}

/**
 * Time limit of a group after SIGKILL, in milliseconds. Only a process that is stuck in the kernel exceeds
 * it.
 */
const KILL_WAIT = 2000;
/** First and longest pause between checks of a group without its leader, in milliseconds. */
const MIN_POLL = 2;
const MAX_POLL = 50;

/** Groups of children that have not ended. This process kills them when it exits. */
const groups = new Set<number>();

process.on("exit", () => {
  for (const group of groups) signal(group, "SIGKILL");
});

const IS_WINDOWS = process.platform === "win32";

/**
 * Sends a signal to a process group; signal 0 only checks the group. Returns `true` if the group exists.
 *
 * Windows has no groups. There, only SIGKILL has an effect: it ends a live process and its descendants.
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
 * Starts a program as a child process.
 *
 * Fails with a {@link SpawnError} if the program cannot be started.
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
        // A separate group shields the child from Ctrl-C of the terminal and allows ending all its members.
        // On Windows this option would open a window.
        detached: !IS_WINDOWS,
        windowsHide: true,
        windowsVerbatimArguments: verbatim,
        stdio: ["pipe", "pipe", "pipe"],
      });
      started.once("spawn", () => {
        started.off("error", fail);
        // The code that sends a signal handles its failure.
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

/**
 * Owner of a child from its start to its end. When the leader exits by itself, the remaining members of its
 * group are ended too.
 */
class OwnedChild implements Child {
  readonly id: number;
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #eofGrace: number;
  readonly #termGrace: number;
  #ending: Promise<Exit> | undefined;

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
        // The rest of stderr is read in this turn of the event loop or in the next one.
        setImmediate(() => resolve({ code, signal, stderrTail: stderr.text() }));
        void this.shutdown();
      });
    });
  }

  shutdown(): Promise<Exit> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<Exit> {
    this.#process.stdin.end();
    if (!(await this.#waitForExit(this.#eofGrace))) {
      signal(this.id, "SIGTERM");
      if (IS_WINDOWS || !(await this.#waitForExit(this.#termGrace))) {
        signal(this.id, "SIGKILL");
        await this.#waitForExit(KILL_WAIT);
      }
    }
    groups.delete(this.id);
    // Children that left the group may hold the pipes open. They are not awaited.
    this.#process.stderr.destroy();
    const known = await within(MAX_POLL, this.exited);
    return known ? this.exited : { code: null, signal: null, stderrTail: "" };
  }

  /** Waits until the leader and the group have ended. Returns `false` after the time limit. */
  async #waitForExit(grace: number): Promise<boolean> {
    const deadline = Date.now() + grace;
    let interval = MIN_POLL;
    let isLeaderAlive = this.#process.exitCode === null && this.#process.signalCode === null;
    while (isLeaderAlive || signal(this.id, 0)) {
      const left = deadline - Date.now();
      if (left <= 0) return false;
      if (isLeaderAlive) await within(left, this.exited);
      else await pause(Math.min(interval, left));
      isLeaderAlive = this.#process.exitCode === null && this.#process.signalCode === null;
      interval = Math.min(MAX_POLL, interval * 2);
    }
    return true;
  }
}
