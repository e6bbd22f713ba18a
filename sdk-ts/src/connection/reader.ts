/** Reader of a connection. It scans every line once and routes the line to its receiver. */

import { DecodeError, RefusedError, type Rejection } from "../error.js";
import { EventFrame } from "../event.js";
import { failureKind } from "../failure.js";
import { Framer, type FramingError } from "../framing.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { LAZY_FROM, parseObject, rawMember } from "../json.js";
import type { Queue } from "../queue.js";
import { redact, stripPayload } from "../redact.js";
import { type TypeMismatch, mismatchText } from "../validation.js";
import { dataOf, route } from "../route.js";
import type { Input } from "../run_tracker.js";
import { type Members, scanMembers } from "../scan.js";
import { type AnyTypes, type EventSpec, type Spec, row } from "../spec.js";
import { DRAIN_LIMIT, EXIT_WITHIN, QUIET_TIME, pause, within } from "../timer.js";
import type { Transport } from "../transport.js";
import type { Connection } from "./connection.js";
import { validateValue } from "./validation.js";
import { failOtherId, handleUnreadableLine, keyOf } from "./unreadable_lines.js";

/** Length of the displayed part of a line that is not a frame. */
const SHOWN = 200;

/**
 * Number of consecutive turns of the event loop without input after which the pipe of an ended process is
 * empty.
 */
const SILENT_TURNS = 4;

const OPEN_BRACE = 0x7b;

/** Reads until the end and settles the connection with the termination. Never fails. */
export async function read(connection: Connection, { readable, child }: Transport): Promise<void> {
  const reader = readable.getReader();
  const progress = { chunks: 0, isEnded: false };
  // The reader and the exit are awaited side by side, because other processes may keep the pipe open.
  const exited = child?.exited.then(async (exit) => {
    connection.onProcessExit();
    await drainOutput(progress);
    connection.settle("exited", { exit });
  });
  void connection.terminated.then(() => reader.cancel().catch(() => undefined));
  let cause: unknown;
  try {
    await readLines(connection, reader, progress);
  } catch (error) {
    cause = error;
  }
  progress.isEnded = true;
  // A process closes its stdout when it ends. Its exit code describes the cause better than the end of the
  // stream.
  if (exited !== undefined) await within(EXIT_WITHIN, exited);
  if (cause === undefined) connection.settle("end_of_stream");
  else connection.settle("io", { cause });
}

/** Progress of the reader. */
interface Progress {
  chunks: number;
  isEnded: boolean;
}

/**
 * Waits until all output of an ended process was read. If another process holds the pipe open, waits for a
 * pause in the output instead of its end.
 */
async function drainOutput(progress: Progress): Promise<void> {
  const deadline = Date.now() + DRAIN_LIMIT;
  let silent = 0;
  while (!progress.isEnded && silent < SILENT_TURNS && Date.now() < deadline) {
    const { chunks } = progress;
    await pause(QUIET_TIME / SILENT_TURNS);
    silent = progress.chunks === chunks ? silent + 1 : 0;
  }
}

async function readLines(
  connection: Connection,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  progress: Progress,
): Promise<void> {
  const framer = new Framer({ maxLine: connection.settings.maxLine });
  /** Promise that resolves when a subscriber has made room; further lines wait for it. */
  let waiting: Promise<void> | undefined;
  let held: (string | FramingError)[] = [];
  const accept = (line: string | FramingError): void => {
    if (waiting !== undefined) held.push(line);
    else waiting = handleLine(connection, line, framer);
  };
  const sink = { line: accept, error: accept };
  for (let more = true; more && connection.ended === undefined; ) {
    const { done, value } = await reader.read();
    progress.chunks++;
    if (done) framer.finish(sink);
    else framer.push(value, sink);
    more = !done;
    while (waiting !== undefined) {
      await waiting;
      waiting = undefined;
      const rest = held;
      held = [];
      rest.forEach(accept);
    }
    const yielded = connection.yieldToSubscribers();
    if (yielded !== undefined) await yielded;
  }
  connection.assembler?.interrupt("the end of the connection");
}

/** Handles one line. Returns a promise only if a subscriber must make room first. */
function handleLine(connection: Connection, line: string | FramingError, framer: Framer): Promise<void> | undefined {
  let members: Members | string | undefined;
  if (typeof line === "string") {
    if (line.length >= LAZY_FROM) members = scanMembers(line, framer.stringCache);
    // Events that contain a key are stripped here, so that no later code can expose the key.
    if (members || framer.mayStripPayload) line = stripPayload(line, members) ?? line;
  }
  if (connection.ended !== undefined) return countDropped(connection, line);
  if (typeof line !== "string") {
    connection.tap.diagnostic({ kind: "framing", error: line });
    return void handleUnreadableLine(connection, line.head, line.message);
  }
  if (line.charCodeAt(0) !== OPEN_BRACE && line.trim() === "") return undefined;
  const { assembler, tap } = connection;
  // The tap receives a chunked frame only when it is complete, because redaction needs the whole frame.
  let untapped = tap.wantsFrames;
  try {
    const report = (number: string): void => tap.diagnostic({ kind: "inexact_number", number });
    let object = parseObject(line, framer, members, report);
    const whole = assembler === undefined ? line : assembler.accept(object, line);
    if (whole === undefined) return undefined;
    const isOther = whole !== line;
    if (isOther) line = stripPayload(whole) ?? whole;
    connection.recent.push(line);
    if (untapped) tap.frame("received", line);
    untapped = false;
    if (isOther) object = parseObject(line, undefined, "", report);
    connection.settings.watch?.("received", line);
    if (!connection.isDialectConfirmed && connection.isOfOtherDialect(object, line)) return undefined;
    // Fast path for events, which are most lines.
    if (connection.spec.framing === "flat") {
      const { type } = object;
      connection.observeEvent(type, object, true);
      const known = connection.eventSpec(type);
      if (known !== undefined && !connection.isDialectConfirmed) connection.confirmDialect();
      if (known !== undefined && connection.settings.validate === undefined) return deliverEvent(connection, new EventFrame(type as string, object, line, known), undefined);
    }
    const routed = route(connection.spec, object, line);
    switch (routed.kind) {
      case "event": {
        const { type, body, session } = routed;
        connection.observeEvent(type, body, body === object);
        const declared = connection.eventSpec(type);
        if (declared !== undefined) connection.confirmDialect();
        const known = declared && validateValue(connection, "event", type, body) === undefined ? declared : undefined;
        if (declared === undefined) tap.diagnostic({ kind: "unknown_frame", type });
        return deliverEvent(connection, new EventFrame(type, body, line, known, session), session);
      }
      case "answer":
        connection.confirmDialect();
        return void settleResponse(connection, routed.id, routed.command, routed.success, routed.frame, line);
      case "dialog":
        return connection.dialogs.handle(rawMember(line, "id", routed.id), routed.id, routed.method, routed.params);
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    if (untapped) tap.frame("received", line);
    assembler?.interrupt("another frame");
    handleUnreadableLine(connection, line, error.message);
    const text = redact(line.slice(0, SHOWN), line.length > SHOWN);
    return void tap.diagnostic({ kind: "noise", text, message: error.message });
  }
}

/** Counts the event in a line that was read but not delivered before the end of the connection. */
function countDropped(connection: Connection, line: string | FramingError): undefined {
  if (typeof line !== "string") return;
  try {
    const routed = route(connection.spec, parseObject(line), line);
    if (routed.kind !== "event") return;
    const { type, body, session } = routed;
    connection.deliver(new EventFrame(type, body, line, undefined, session), session);
  } catch {
    // Other text contains no event.
  }
}

/**
 * Delivers an event to all subscribers. A run processes its last event only after the event is in the
 * queues.
 */
function deliverEvent(connection: Connection, frame: EventFrame, session: string | undefined): Promise<void> | undefined {
  connection.runs.observe(session, frame);
  const full = connection.deliver(frame, session);
  if (full !== undefined) return deliverWhenRoom(connection, full, frame, session);
  if (frame.spec?.run !== undefined) feedRuns(connection, frame.spec, frame, session);
  return undefined;
}

async function deliverWhenRoom(
  connection: Connection,
  full: Queue<EventFrame>[],
  frame: EventFrame,
  session: string | undefined,
): Promise<void> {
  connection.isBlocked = true;
  for (const queue of full) {
    do await queue.waitForRoom(frame.size);
    while (queue.push(frame) === "full");
  }
  connection.isBlocked = false;
  if (frame.spec !== undefined) feedRuns(connection, frame.spec, frame, session);
}

function feedRuns(connection: Connection, spec: EventSpec, frame: EventFrame, session: string | undefined): void {
  const input = runInput(spec, frame.body);
  if (input === undefined) return;
  if (spec.run === "may_end" || spec.run === "ends") connection.runs.recordLast(session, frame);
  connection.runs.feedAll(session, input);
}

function runInput({ run, member = "" }: EventSpec, body: JsonObject): Input | undefined {
  switch (run) {
    case "may_end_unless":
      return body[member] === true ? "holds" : "may_end";
    case "may_end_if":
      return body[member] === false ? "holds" : "may_end";
    case "holds_if":
      // The prompt had no effect, even if events arrived before.
      return body[member] === false ? "replaced" : "holds";
    default:
      return run;
  }
}

/** Routes a response to its call. */
function settleResponse(
  connection: Connection,
  id: JsonValue | undefined,
  command: string | undefined,
  success: boolean,
  frame: JsonObject,
  line: string,
): void {
  const { pending, runs, spec } = connection;
  const key = id === undefined ? undefined : keyOf(connection, id);
  if (id !== undefined && key === undefined) {
    if (failOtherId(connection, id, command, line)) return;
    return connection.tap.diagnostic({ kind: "unmatched_answer", id: JSON.stringify(id), command });
  }
  const settled =
    key !== undefined
      ? pending.settle(key)
      : success
        ? undefined
        : pending.attribute(command, spec.parseCommand);
  if (settled === undefined) {
    // A failure after the acknowledgement ends the run of the command.
    const run = key === undefined || success ? undefined : runs.of(key);
    if (run !== undefined) runs.fail(run, new RefusedError(rejectionOf(spec, command, command, frame["error"], false)));
    else connection.tap.diagnostic({ kind: "unmatched_answer", id: key, command });
    return;
  }
  const role = row(spec.commands, settled.command)?.run;
  const run = role === "starts" ? runs.of(settled.id) : undefined;
  if (success) {
    connection.observeResponse(settled.command, frame["data"]);
    // Real agents omit the last events of a replaced run, so the state of the agent is queried.
    if (role === "replaces" && connection.runEnd.barrier) runs.feedAll(undefined, "replaced");
    if (role === "stops") runs.abortAcknowledged(settled.session);
    if (run !== undefined) runs.feed(run, "answered");
    let data: JsonValue | undefined;
    let mismatch: TypeMismatch | undefined;
    try {
      data = dataOf(frame);
      mismatch = validateValue(connection, "answer", settled.command, data);
    } catch (error) {
      return settled.waiter.reject(error);
    }
    if (mismatch === undefined) return settled.waiter.resolve(data);
    const message = `the answer to \`${settled.command}\` does not fit its declaration: ${mismatchText(mismatch)}`;
    return settled.waiter.reject(new DecodeError(message, line));
  }
  const named = settled.attributed ? settled.command : (command ?? settled.command);
  const rejection = new RefusedError(rejectionOf(spec, command, named, frame["error"], settled.attributed));
  const error = connection.failureOf(settled.command, rejection);
  if (run !== undefined) runs.fail(run, error);
  settled.waiter.reject(error);
}

/** Builds the error of a rejection. `named` is the command in the response, `command` the rejected one. */
function rejectionOf(
  spec: Spec<AnyTypes>,
  named: string | undefined,
  command: string | undefined,
  error: JsonValue | undefined,
  attributed: boolean,
): Rejection {
  const isObject = typeof error === "object" && error !== null && !Array.isArray(error);
  const object: JsonObject = isObject ? error : { message: error ?? null };
  const data = object["data"];
  const code = typeof object["code"] === "number" ? object["code"] : undefined;
  const message = typeof object["message"] === "string" ? object["message"] : "the agent gave no reason";
  return { kind: failureKind(spec, named, message, code) ?? "refused", command, message, code, data, attributed };
}
