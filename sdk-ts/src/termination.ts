/** How a connection ended. */

import { AgentError } from "./error.js";
import { redact, redactText } from "./redact.js";
import type { Exit } from "./transport.js";

/** Why a connection ended: the process ended, the stream ended, this side closed it, or reading or writing failed. */
export type TerminationReason = "exited" | "end_of_stream" | "closed" | "io";

/** What is known of the end of a connection. */
export interface TerminationFacts {
  readonly exit?: Exit | undefined;
  /** What reading or writing failed with. */
  readonly cause?: unknown;
  /** Whether this side closed the connection. */
  readonly isClosedByUs?: boolean;
  readonly lastFrames?: readonly string[];
  readonly pending?: readonly string[];
}

/**
 * The connection has ended. Every open call, run and stream fails with the same object.
 */
export class Termination extends AgentError {
  override readonly kind = "terminated";
  /** Whether this side closed the connection: `close` was called before the agent ended by itself. */
  readonly isClosedByUs: boolean;
  /** How the process ended; `undefined` where there is no process, or the connection ended otherwise. */
  readonly exit: Exit | undefined;
  /** The end of what the process wrote to stderr; empty where there is none. */
  readonly stderrTail: string;
  /** The ids of the calls that had no answer. */
  readonly pending: readonly string[];
  /** The last frames that were received, oldest first, the beginning of each, keys redacted. */
  declare readonly lastFrames: readonly string[];

  constructor(
    readonly reason: TerminationReason,
    facts: TerminationFacts = {},
  ) {
    super(describe(reason, facts), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.isClosedByUs = facts.isClosedByUs ?? reason === "closed";
    this.exit = facts.exit;
    this.stderrTail = facts.exit?.stderrTail ?? "";
    this.pending = facts.pending ?? [];
    Object.defineProperty(this, "lastFrames", { value: facts.lastFrames ?? [], enumerable: false });
  }
}

function describe(reason: TerminationReason, { exit, cause, isClosedByUs }: TerminationFacts): string {
  if (reason === "closed" || isClosedByUs) return "the connection was closed by this side";
  const ended = {
    exited: `the agent ${exited(exit)}`,
    end_of_stream: "the agent closed its output",
    io: `the connection failed: ${oneLine(cause instanceof Error ? cause.message : String(cause))}`,
  }[reason];
  const last = exit?.stderrTail.split("\n").findLast((line) => line.trim() !== "");
  return last === undefined ? ended : `${ended}, last on stderr: ${oneLine(redactText(last.trim()))}`;
}

/** How a process ended, as the end of a sentence. */
export function exited(exit: Exit | undefined): string {
  if (exit?.signal) return `was killed by ${exit.signal}`;
  return typeof exit?.code === "number" ? `exited with code ${exit.code}` : "ended";
}

/** Text of others in a line of ours: cut, and without control characters, which could move a terminal's cursor. */
export function oneLine(text: string): string {
  const shown = 300;
  const plain = text.slice(0, shown).replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
  return text.length > shown ? `${plain}…` : plain;
}

/** How many frames a termination shows, a power of two, and how much of each. */
const FRAMES = 8;
const SHOWN = 2048;

/** The last frames of a connection, bounded in number and size. */
export class RecentFrames {
  readonly #frames: string[] = [];
  #count = 0;

  /** Notes a frame. The beginning of a long one is copied, so that the frame itself is not kept alive. */
  push(frame: string): void {
    this.#frames[this.#count++ & (FRAMES - 1)] = frame.length <= SHOWN ? frame : copy(frame.slice(0, SHOWN));
  }

  /** The frames noted, oldest first, keys redacted. */
  take(): string[] {
    const frames = this.#frames.splice(0);
    const oldest = this.#count & (FRAMES - 1);
    return [...frames.slice(oldest), ...frames.slice(0, oldest)].map((frame) => redact(frame, true));
  }
}

/** The same text in memory of its own: a slice keeps alive what it was cut from. */
function copy(text: string): string {
  return ` ${text}`.slice(1);
}
