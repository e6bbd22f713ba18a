/** End of a connection. */

import { AgentError } from "./error.js";
import { redact, redactText } from "./redact.js";
import type { Exit } from "./transport.js";

/**
 * Reason for the end of a connection: exit of the process, end of the stream, close by this side, or an I/O
 * error.
 */
export type TerminationReason = "exited" | "end_of_stream" | "closed" | "io";

/** Facts about the end of a connection. */
export interface TerminationFacts {
  readonly exit?: Exit | undefined;
  /** Error of a read or write. */
  readonly cause?: unknown;
  /** `true` if this side closed the connection. */
  readonly isClosedByUs?: boolean;
  readonly lastFrames?: readonly string[];
  readonly pending?: readonly string[];
}

/** End of the connection. Every open call, run and stream fails with the same object. */
export class Termination extends AgentError {
  override readonly kind = "terminated";
  /** `true` if this side closed the connection: `close` was called before the agent ended by itself. */
  readonly isClosedByUs: boolean;
  /** Exit of the process; `undefined` without a process, or after another end. */
  readonly exit: Exit | undefined;
  /** End of the process's stderr; empty if there is no output. */
  readonly stderrTail: string;
  /** Ids of the calls without a response. */
  readonly pending: readonly string[];
  /** Last received frames, oldest first, each cut to its beginning, with keys redacted. */
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
  if (reason === "closed" || isClosedByUs) return "the client closed the connection";
  const ended = {
    exited: `the agent ${describeExit(exit)}`,
    end_of_stream: "the agent closed its output",
    io: `the connection failed: ${oneLine(cause instanceof Error ? cause.message : String(cause))}`,
  }[reason];
  const last = exit?.stderrTail.split("\n").findLast((line) => line.trim() !== "");
  return last === undefined ? ended : `${ended}, last on stderr: ${oneLine(redactText(last.trim()))}`;
}

/** Describes the exit of a process as the end of a sentence. */
export function describeExit(exit: Exit | undefined): string {
  if (exit?.signal) return `was killed by ${exit.signal}`;
  return typeof exit?.code === "number" ? `exited with code ${exit.code}` : "ended";
}

/**
 * Returns foreign text for use in one line: cut, and without control characters, which could move a
 * terminal's cursor.
 */
export function oneLine(text: string): string {
  const shown = 300;
  const plain = text.slice(0, shown).replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
  return text.length > shown ? `${plain}…` : plain;
}

/** Number of frames that a termination holds, a power of two; the next constant limits the length of each. */
const FRAMES = 8;
const SHOWN = 2048;

/** Last frames of a connection, bounded in number and size. */
export class RecentFrames {
  readonly #frames: string[] = [];
  #count = 0;

  /** Records a frame. The beginning of a long frame is copied, so that the frame itself is not kept alive. */
  push(frame: string): void {
    this.#frames[this.#count++ & (FRAMES - 1)] = frame.length <= SHOWN ? frame : copy(frame.slice(0, SHOWN));
  }

  /** Returns the recorded frames, oldest first, with keys redacted. */
  take(): string[] {
    const frames = this.#frames.splice(0);
    const oldest = this.#count & (FRAMES - 1);
    return [...frames.slice(oldest), ...frames.slice(0, oldest)].map((frame) => redact(frame, true));
  }
}

/** Copies a text, because a slice keeps its source alive. */
function copy(text: string): string {
  return ` ${text}`.slice(1);
}
