/**
 * Typed clients of coding agents that speak JSON lines, over any pair of web streams.
 *
 * Each dialect is a namespace with its types, its tables and its `Client`. `spawn` of
 * `agentese/stdio` starts an agent as a process.
 */

export { type CallOptions, type ClientOptions, RpcClient, type RunOptions } from "./client.js";
export { type DecodedFrame, type FrameKind, decodeClient, decodeServer, encode, encodeFrame } from "./codec.js";
export {
  AgentError,
  DecodeError,
  DetachedError,
  type ErrorKind,
  NotInRevisionError,
  OtherDialectError,
  RefusedError,
  type Rejection,
  RunFailedError,
  StalledError,
  TimedOutError,
  UsageError,
} from "./error.js";
export type { OpenDialog } from "./dialog.js";
export { type FailureKind, failureKind } from "./failure.js";
export { type RawEvent, UNKNOWN, type UnknownEvent } from "./event.js";
export { DEFAULT_MAX_LINE, Framer, type FramerOptions, FramingError, type LineSink } from "./framing.js";
export { type Arms, match } from "./match.js";
export { DEFAULT_QUEUE_BYTES, type Overflow } from "./queue.js";
export { type EventStream, type Events, Run, type RunResult } from "./run.js";
export { type Limits, RunLimits } from "./run_limits.js";
export type { EndedBy } from "./run_tracker.js";
export type { AnyTypes, DataOf, EventOf, ParamsOf, Spec } from "./spec.js";
export type { Diagnostic, Direction, Tap } from "./tap.js";
export { Termination, type TerminationReason } from "./termination.js";
export type { Child, Exit, Transport } from "./transport.js";
export type { TypeMismatch, ValidationTarget, Validator } from "./validation.js";
export type { JsonObject, JsonValue, NoParams, UnknownVariant } from "./generated/types.js";
export * from "./generated/index.js";
