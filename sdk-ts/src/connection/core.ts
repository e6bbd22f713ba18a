/** Types that the parts of a connection share. */

import type { Broadcast } from "../broadcast.js";
import type { PendingCalls } from "../correlate.js";
import type { JsonValue } from "../generated/types.js";
import type { Overflow } from "../queue.js";
import type { AgentRevision, AnyTypes, RunEnd, Spec } from "../spec.js";
import type { Direction, SafeTap, Tap } from "../tap.js";
import type { Termination } from "../termination.js";
import type { Validator } from "../validation.js";

/** Settings of a connection. */
export interface Settings {
  readonly overflow?: Overflow | undefined;
  readonly queueBytes?: number | undefined;
  readonly maxLine?: number | undefined;
  readonly timeout?: number | undefined;
  readonly tap?: Tap | undefined;
  readonly dialogs?: object | undefined;
  readonly validate?: Validator | undefined;
  /** Revision that the options name. */
  readonly revision?: string | undefined;
  /** Observer of complete, unredacted frames in order, for internal use by this library. */
  readonly watch?: ((direction: Direction, line: string) => void) | undefined;
}

/** Receiver of a response. Exactly one of the two functions is called, exactly once. */
export interface Waiter {
  resolve(data: JsonValue | undefined): void;
  reject(error: unknown): void;
}

/**
 * Subscriber to events: to all events, or to those of one session and those without a session.
 */
export interface Listener {
  readonly events: Broadcast;
  readonly session: string | undefined;
}

/** Part of a connection that its writer, runs and dialogs use. */
export interface ConnectionCore {
  readonly spec: Spec<AnyTypes>;
  readonly settings: Settings;
  readonly pending: PendingCalls<Waiter>;
  readonly tap: SafeTap;
  /** Detected revision of the agent. */
  readonly agentRevision: AgentRevision;
  /** Rules for the end of a run in the agent's revision, or in the oldest revision if unknown. */
  readonly runEnd: RunEnd;
  /** Termination, after the end of the connection. */
  readonly ended: Termination | undefined;
  /** `true` if the process has ended. Its output may still be unread. */
  readonly hasExited: boolean;
  /** Creates a stream of events with the settings of the connection. */
  newStream(): Broadcast;
  /** Adds a subscriber to the events of its session. */
  addListener(listener: Listener): void;
  removeListener(listener: Listener): void;
  /** Registers a call, sends it and returns its id. */
  send(command: string, params: object, waiter: Waiter, before?: (id: string) => void, failsWithId?: boolean): string;
  /** Records that the agent speaks the client's dialect. */
  confirmDialect(): void;
  /** Settles all pending operations with one termination and returns it. */
  settle(reason: Termination["reason"], facts?: { exit?: Termination["exit"]; cause?: unknown }): Termination;
}
