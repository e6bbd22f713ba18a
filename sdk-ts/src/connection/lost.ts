/** Lines that could not be read: an answer among them fails its call, and runs ask whether they are still going on. */

import { DecodeError } from "../error.js";
import type { JsonValue } from "../generated/types.js";
import { glance } from "../glance.js";
import { row } from "../spec.js";
import type { Connection } from "./connection.js";

/** How long the answer of a call may take to come after a line that quotes it, in milliseconds. */
const ANSWER_WITHIN = 30_000;

/** The key of the call that an answer with that id belongs to; `undefined` if no call is sent with an id of its JSON type. */
export function keyOf({ spec }: Connection, id: JsonValue): string | undefined {
  const isNumber = spec.framing === "json-rpc" && typeof id === "number";
  if (isNumber || (spec.framing !== "json-rpc" && typeof id === "string") || id === null) return String(id);
  return undefined;
}

/**
 * Fails the call that an answer belongs to whose id has another JSON type: the one with that id as text, or the only one
 * that waits. Says whether there is one.
 */
export function failOtherId(connection: Connection, id: JsonValue, command: string | undefined, line: string): boolean {
  const { pending, spec } = connection;
  const text = typeof id === "string" ? id : JSON.stringify(id);
  // A text in place of a number may be the id of somebody else's call.
  const isOne = spec.framing === "json-rpc" ? typeof id !== "string" : command !== undefined;
  const key = pending.waits(text) ? text : isOne ? pending.only(command) : undefined;
  return key !== undefined && failCall(connection, key, `its id is ${text}, of another JSON type than the id that was sent`, line);
}

/** Fails a call whose answer came and cannot be read. Says whether somebody waited for it. */
function failCall(connection: Connection, key: string, reason: string, line: string): boolean {
  const { pending, runs, spec } = connection;
  const settled = pending.settle(key);
  if (settled === undefined) return false;
  const error = new DecodeError(`the answer to \`${settled.command}\` cannot be read: ${reason}`, line);
  const run = row(spec.commands, settled.command)?.run === "starts" ? runs.of(settled.id) : undefined;
  if (run !== undefined) runs.fail(run, error);
  settled.waiter.failed(error);
  return true;
}

/** Looks at a line that could not be read, of which `text` is at least the beginning. */
export function lostLine(connection: Connection, text: string, reason: string): void {
  const { id: raw, type, method } = glance(text);
  const isAnswer = connection.spec.framing === "json-rpc" ? method === undefined : type === '"response"';
  if (isAnswer && raw !== undefined) {
    let id: JsonValue | undefined;
    try {
      id = JSON.parse(raw) as JsonValue;
    } catch {
      // What is no JSON names no call.
    }
    const key = id === undefined ? undefined : keyOf(connection, id);
    // A line that begins with other text may be a log that quotes an answer which comes later.
    if (!/^\s*\{/.test(text)) {
      if (key !== undefined && connection.pending.waits(key)) {
        const timer: unknown = setTimeout(() => failCall(connection, key, reason, text), ANSWER_WITHIN);
        // A program that waits for nothing else ends; a browser's timers are numbers.
        (timer as { unref?(): void }).unref?.();
      }
    } else if (key !== undefined) {
      if (failCall(connection, key, reason, text)) return;
    } else if (id !== undefined && failOtherId(connection, id, undefined, text)) return;
  }
  // Text that something else printed is no line of the run.
  if (text.includes("{")) connection.runs.feedAll(undefined, "lost");
}
