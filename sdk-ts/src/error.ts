/** What can go wrong, by kind, to branch on. */
export type ErrorKind =
  | "spawn"
  | "refused"
  | "terminated"
  | "timed_out"
  | "stalled"
  | "decode"
  | "framing"
  | "usage"
  | "detached";

/** A failure of a call, a run or the connection. */
export abstract class AgentError extends Error {
  /** What kind of failure it is. */
  abstract readonly kind: ErrorKind;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** Whether the same call may succeed on the same connection a little later. */
  get isRetryable(): boolean {
    return this.kind === "timed_out" || this.kind === "stalled";
  }
}

/** What an answer says that is a refusal. */
export interface Refused {
  /** The command that the answer names. */
  readonly command: string | undefined;
  /** What the agent says. */
  readonly reason: string;
  /** The JSON-RPC code, in dialects that have codes. */
  readonly code?: number | undefined;
  /** The JSON-RPC data, where there is any. */
  readonly data?: unknown;
  /** True where the answer carried no id and was given to the oldest call that it can belong to. */
  readonly attributed: boolean;
}

/** The agent answered that it will not or cannot. */
export class RefusedError extends AgentError implements Refused {
  override readonly kind = "refused";
  readonly command: string | undefined;
  readonly reason: string;
  readonly code: number | undefined;
  readonly data: unknown;
  readonly attributed: boolean;

  constructor(refused: Refused) {
    super(refused.command === undefined ? refused.reason : `\`${refused.command}\` failed: ${refused.reason}`);
    this.command = refused.command;
    this.reason = refused.reason;
    this.code = refused.code;
    this.data = refused.data;
    this.attributed = refused.attributed;
  }
}

/** No answer came in time. An answer that comes later is dropped. */
export class TimedOutError extends AgentError {
  override readonly kind = "timed_out";

  constructor(
    /** The command's wire name. */
    readonly command: string,
    /** How long it was waited for, in milliseconds. */
    readonly after: number,
  ) {
    super(`no answer to \`${command}\` within ${after} ms`);
  }
}

/**
 * No answer came in time because the reader waits for a subscriber that does not read; or nothing was sent,
 * because the agent does not read what waits already (`after` is 0).
 */
export class StalledError extends AgentError {
  override readonly kind = "stalled";

  constructor(
    /** The command's wire name. */
    readonly command: string,
    /** How long it was waited for, in milliseconds. */
    readonly after: number,
  ) {
    super(
      after === 0
        ? `\`${command}\` was not sent: the agent does not read what was sent before`
        : `no answer to \`${command}\` within ${after} ms: the reader is blocked by a subscriber whose queue is full`,
    );
  }
}

/** A line that is no frame of its dialect. The line is kept. */
export class DecodeError extends AgentError {
  override readonly kind = "decode";

  constructor(
    /** What is wrong. */
    readonly reason: string,
    /** The whole line. */
    readonly raw: string,
  ) {
    super(reason);
  }
}

/** A mistake of the caller. */
export class UsageError extends AgentError {
  override readonly kind = "usage";
}

/** The subscriber was cut off because its queue was full. */
export class DetachedError extends AgentError {
  override readonly kind = "detached";

  constructor(
    /** How many events it did not get. */
    readonly dropped: number,
  ) {
    super(`cut off with a full queue; ${dropped} events were dropped`);
  }
}
