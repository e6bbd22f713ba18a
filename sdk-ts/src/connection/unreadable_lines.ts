/**
 * Handling of unreadable lines. If such a line is a response, its call fails. Runs query the state of the
 * agent.
 */

import { DecodeError } from "../error.js";
import { readHeader } from "../frame_header.js";
import type { JsonValue } from "../generated/types.js";
import { row } from "../spec.js";
import type { Connection } from "./connection.js";

/** Time limit, in milliseconds, for the response to a call after a line that only quotes a response. */
const ANSWER_WITHIN = 30_000;

/**
 * Returns the key of the call that an id belongs to; `undefined` if the JSON type of the id differs
 * from that of call ids.
 */
export function keyOf({ spec }: Connection, id: JsonValue): string | undefined {
  const isNumber = spec.framing === "json-rpc" && typeof id === "number";
  if (isNumber || (spec.framing !== "json-rpc" && typeof id === "string") || id === null) return String(id);
  return undefined;
}

/**
 * Fails the call of a response whose id has the wrong JSON type. That is the call with the same id as text,
 * or the only pending call. Returns `false` if there is no such call.
 */
export function failOtherId(connection: Connection, id: JsonValue, command: string | undefined, line: string): boolean {
  const { pending, spec } = connection;
  const text = typeof id === "string" ? id : JSON.stringify(id);
  // In JSON-RPC, a text instead of a number may be the id of another client's call.
  const isOne = spec.framing === "json-rpc" ? typeof id !== "string" : command !== undefined;
  const key = pending.isPending(text) ? text : isOne ? pending.only(command) : undefined;
  return key !== undefined && failCall(connection, key, `its id is ${text}, of another JSON type than the id that was sent`, line);
}

/** Fails a call because its response is unreadable. Returns `true` if the call was pending. */
function failCall(connection: Connection, key: string, reason: string, line: string): boolean {
  const { pending, runs, spec } = connection;
  const settled = pending.settle(key);
  if (settled === undefined) return false;
  const error = new DecodeError(`the answer to \`${settled.command}\` cannot be read: ${reason}`, line);
  const run = row(spec.commands, settled.command)?.run === "starts" ? runs.of(settled.id) : undefined;
  if (run !== undefined) runs.fail(run, error);
  settled.waiter.reject(error);
  return true;
}

/** Handles an unreadable line. `text` is the line, or its beginning. */
export function handleUnreadableLine(connection: Connection, text: string, reason: string): void {
  const { id: raw, type, method } = readHeader(text);
  const isAnswer = connection.spec.framing === "json-rpc" ? method === undefined : type === '"response"';
  if (isAnswer && raw !== undefined) {
    let id: JsonValue | undefined;
    try {
      id = JSON.parse(raw) as JsonValue;
    } catch {
      // The call cannot be identified in malformed JSON.
    }
    const key = id === undefined ? undefined : keyOf(connection, id);
    // A line that starts with other text may be a log that quotes a response which arrives later.
    if (!/^\s*\{/.test(text)) {
      if (key !== undefined && connection.pending.isPending(key)) {
        const timer: unknown = setTimeout(() => failCall(connection, key, reason, text), ANSWER_WITHIN);
        // This timer must not keep a Node process alive. In a browser, timers are numbers.
        (timer as { unref?(): void }).unref?.();
      }
    } else if (key !== undefined) {
      if (failCall(connection, key, reason, text)) return;
    } else if (id !== undefined && failOtherId(connection, id, undefined, text)) return;
  }
  // Text without a brace is output of other code, not an unreadable frame.
  if (text.includes("{")) connection.runs.feedAll(undefined, "lost");
}
