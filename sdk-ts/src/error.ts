import type { FailureKind } from "./failure.js";

/** What can go wrong, by kind, to branch on. A {@link RefusedError} has the kind of the documented failure, where it is one. */
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

/** A failure of a call, a run or the connection. */
export abstract class AgentError extends Error {
  /** What kind of failure it is. */
  abstract readonly kind: ErrorKind;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /**
   * Whether the same call can be made again on the same connection without doing anything twice, and may succeed
   * a little later.
   */
  readonly isRetryable: boolean = false;
}

/** What an answer says that is a refusal. */
export interface Refused {
  /** Which documented failure it is; `refused` where the declaration does not name it. */
  readonly kind: FailureKind | "refused";
  /** The command that was refused. */
  readonly command: string | undefined;
  /** What the agent says, unchanged. */
  readonly message: string;
  /** The JSON-RPC code, in dialects that have codes. */
  readonly code?: number | undefined;
  /** The JSON-RPC data, where there is any. */
  readonly data?: unknown;
  /** True where the answer carried no id and was given to the oldest call that it can belong to. */
  readonly attributed: boolean;
}

/**
 * The agent rejected the command. `message` is what the agent says; `kind` names the failure where it is a
 * documented one, as in `no_api_key`.
 */
export class RefusedError extends AgentError implements Refused {
  override readonly kind: FailureKind | "refused";
  readonly command: string | undefined;
  readonly code: number | undefined;
  readonly data: unknown;
  readonly attributed: boolean;

  /** The kind of the documented failure; `undefined` where the declaration does not name it. */
  get failure(): FailureKind | undefined {
    return this.kind === "refused" ? undefined : this.kind;
  }

  constructor(refused: Refused) {
    super(refused.message);
    this.kind = refused.kind;
    this.command = refused.command;
    this.code = refused.code;
    this.data = refused.data;
    this.attributed = refused.attributed;
  }
}

/**
 * The run failed: its request to the model, after the retries that the agent makes by itself. `message` is the reason
 * that the agent gives.
 */
export class RunFailedError extends AgentError {
  override readonly kind = "run_failed";

  constructor(
    message: string,
    /** The code of the failure, in dialects that tell one. */
    readonly code?: string | undefined,
    /** Whether the same prompt may succeed when it is sent again: the agent itself had tried again, or was started anew. */
    override readonly isRetryable: boolean = false,
  ) {
    super(message);
  }
}

/** No answer came in time. The agent may have carried out the command all the same; an answer that comes later is dropped. */
export class TimedOutError extends AgentError {
  override readonly kind = "timed_out";

  constructor(
    /** The command's wire name. */
    readonly command: string,
    /** How long the call waited for its answer, in milliseconds. */
    readonly after: number,
    override readonly isRetryable: boolean = false,
  ) {
    super(`no answer to \`${command}\` within ${after} ms`);
  }
}

/**
 * No answer came in time because the reader waits for a subscriber that does not read; or nothing was sent,
 * because the agent does not read its input (`after` is 0).
 */
export class StalledError extends AgentError {
  override readonly kind = "stalled";

  constructor(
    /** The command's wire name. */
    readonly command: string,
    /** How long the call waited for its answer, in milliseconds. */
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
 * The agent speaks a revision of its dialect that does not have the command. Nothing was sent, or the agent answered
 * that it does not know the command.
 */
export class NotInRevisionError extends AgentError {
  override readonly kind = "not_in_revision";

  constructor(
    /** The command's wire name. */
    readonly command: string,
    /** The agent's revision, as `pi@0.55`. */
    readonly revision: string,
    /** The revisions that have the command, as `pi@1.5`. */
    readonly known: string,
  ) {
    super(`\`${command}\` is not in ${revision}, which the agent speaks; it is in ${known}`);
  }
}

/**
 * The agent speaks another dialect than this client: a frame came that the client's dialect cannot have, before any that it
 * has. The agent answers nothing that this client sends.
 */
export class OtherDialectError extends AgentError {
  override readonly kind = "other_dialect";

  constructor(
    /** The dialect of the client, as `pi`. */
    readonly dialect: string,
    /** The dialects that have such frames, as `opal or acp`. */
    readonly seen: string,
    /** How the frame begins, without keys. */
    readonly frame: string,
  ) {
    super(`the agent does not speak ${dialect}: its frames are those of ${seen}, as in ${frame}; use a client of that dialect`);
  }
}

/** A line that is not a frame of its dialect. */
export class DecodeError extends AgentError {
  override readonly kind = "decode";

  constructor(
    message: string,
    /** The whole line. It may hold keys. */
    readonly raw: string,
  ) {
    super(message);
  }
}

/** A mistake of the caller. */
export class UsageError extends AgentError {
  override readonly kind = "usage";
}

/** Events did not reach this subscriber because its queue was full. */
export class DetachedError extends AgentError {
  override readonly kind = "detached";

  constructor(
    /** How many events it did not get. */
    readonly dropped: number,
  ) {
    super(`the subscriber's queue was full: ${dropped} events were dropped`);
  }
}
