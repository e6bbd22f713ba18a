import type { FailureKind } from "./failure.js";

/** Kinds of errors. A {@link RefusedError} has the kind of the documented failure, if it is one. */
export type ErrorKind =
  | FailureKind
  | "spawn"
  | "refused"
  | "run_failed"
  | "terminated"
  | "timed_out"
  | "stalled"
  | "not_in_revision"
  | "other_dialect"
  | "not_in_dialect"
  | "not_recognised"
  | "decode"
  | "framing"
  | "usage"
  | "detached";

/** Failure of a call, a run or the connection. */
export abstract class AgentError extends Error {
  /** Kind of the failure. */
  abstract readonly kind: ErrorKind;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** `true` if a repetition of the call on the same connection has no double effect and may succeed. */
  readonly isRetryable: boolean = false;
}

/** Content of a rejection. */
export interface Rejection {
  /** Kind of the documented failure; `refused` if the declaration names no such failure. */
  readonly kind: FailureKind | "refused";
  /** Rejected command. */
  readonly command: string | undefined;
  /** Unchanged message of the agent. */
  readonly message: string;
  /** JSON-RPC code, in dialects with codes. */
  readonly code?: number | undefined;
  /** JSON-RPC data, if any. */
  readonly data?: unknown;
  /** `true` if the response had no id and was assigned to the oldest possible call. */
  readonly attributed: boolean;
}

/**
 * The agent rejected the command. `message` is the agent's text; `kind` names a documented failure, as in
 * `no_api_key`.
 */
export class RefusedError extends AgentError implements Rejection {
  override readonly kind: FailureKind | "refused";
  readonly command: string | undefined;
  readonly code: number | undefined;
  readonly data: unknown;
  readonly attributed: boolean;

  /** Kind of the documented failure; `undefined` if the declaration names no such failure. */
  get failure(): FailureKind | undefined {
    return this.kind === "refused" ? undefined : this.kind;
  }

  constructor(rejection: Rejection) {
    super(rejection.message);
    this.kind = rejection.kind;
    this.command = rejection.command;
    this.code = rejection.code;
    this.data = rejection.data;
    this.attributed = rejection.attributed;
  }
}

/**
 * The run failed: its model request failed after all retries of the agent. `message` is the reason that the
 * agent gives.
 */
export class RunFailedError extends AgentError {
  override readonly kind = "run_failed";

  constructor(
    message: string,
    /** Code of the failure, in dialects with such codes. */
    readonly code?: string | undefined,
    /** `true` if the same prompt may succeed later, because the agent had retried it, or was restarted. */
    override readonly isRetryable: boolean = false,
  ) {
    super(message);
  }
}

/** No response arrived in time. The agent may have executed the command; a later response is dropped. */
export class TimedOutError extends AgentError {
  override readonly kind = "timed_out";

  constructor(
    /** Wire name of the command. */
    readonly command: string,
    /** Waiting time of the call in milliseconds. */
    readonly after: number,
    override readonly isRetryable: boolean = false,
  ) {
    super(`no answer to \`${command}\` within ${after} ms`);
  }
}

/**
 * No response arrived in time, because the reader waits for a subscriber that does not read. The error also
 * occurs before sending if the agent does not read its input; then `after` is 0.
 */
export class StalledError extends AgentError {
  override readonly kind = "stalled";

  constructor(
    /** Wire name of the command. */
    readonly command: string,
    /** Waiting time of the call in milliseconds. */
    readonly after: number,
    override readonly isRetryable: boolean = after === 0,
  ) {
    super(
      after === 0
        ? `\`${command}\` was not sent: the agent does not read its input`
        : `no answer to \`${command}\` within ${after} ms: the queue of a subscriber is full, and it does not read`,
    );
  }
}

/**
 * The agent speaks a revision of its dialect that lacks the command. Nothing was sent, or the agent
 * responded that the command is unknown.
 */
export class NotInRevisionError extends AgentError {
  override readonly kind = "not_in_revision";

  constructor(
    /** Wire name of the command. */
    readonly command: string,
    /** Revision of the agent, for example `pi@0.55`. */
    readonly revision: string,
    /** Revisions with the command, for example `pi@1.5`. */
    readonly known: string,
  ) {
    super(`\`${command}\` is not in ${revision}, which the agent speaks; it is in ${known}`);
  }
}

/**
 * The agent does not speak the dialect of this client. A frame of another dialect arrived before any frame
 * of the client's dialect. The agent does not respond to this client.
 */
export class OtherDialectError extends AgentError {
  override readonly kind = "other_dialect";

  constructor(
    /** Dialect of the client, for example `pi`. */
    readonly dialect: string,
    /** Dialects that have such frames, for example `opal or acp`. */
    readonly seen: string,
    /** Beginning of the frame, without keys. */
    readonly frame: string,
  ) {
    super(`the agent does not speak ${dialect}: its frames are those of ${seen}, as in ${frame}; use a client of that dialect`);
  }
}

/** Line that is not a frame of its dialect. */
export class DecodeError extends AgentError {
  override readonly kind = "decode";

  constructor(
    message: string,
    /** Whole line, not redacted: it may contain keys. */
    readonly raw: string,
  ) {
    super(message);
  }
}

/** Misuse of the API by the caller. */
export class UsageError extends AgentError {
  override readonly kind = "usage";
}

/** Events did not reach this subscriber, because its queue was full. */
export class DetachedError extends AgentError {
  override readonly kind = "detached";

  constructor(
    /** Number of lost events. */
    readonly dropped: number,
  ) {
    super(`the subscriber's queue was full: ${dropped} events were dropped`);
  }
}
