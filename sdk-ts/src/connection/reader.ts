/** Reader of a connection. It scans every line once and routes the line to its receiver. */

import { DecodeError, type Refused, RefusedError } from "../error.js";
import { EventFrame } from "../event.js";
import { failureKind } from "../failure.js";
import { Framer, type FramingError } from "../framing.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { LAZY_FROM, parseObject, rawMember } from "../json.js";
import type { Queue } from "../queue.js";
import { redact, sealed } from "../redact.js";
import { type Misfit, misfitText } from "../validation.js";
import { dataOf, route } from "../route.js";
import type { Input } from "../run_tracker.js";
import { type Members, scanMembers } from "../scan.js";
import { type AnyTypes, type EventSpec, type Spec, row } from "../spec.js";
import { EXIT_WITHIN, LAST_WORDS, SILENCE, pause, within } from "../timer.js";
import type { Transport } from "../transport.js";
import type { Connection } from "./connection.js";
import { fits } from "./validation.js";
import { failOtherId, keyOf, lostLine } from "./lost.js";

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
  const progress = { chunks: 0, isOver: false };
  // The exit is observed beside the reader, because other processes may keep the pipe open.
  const exited = child?.exited.then(async (exit) => {
    connection.exited();
    await lastWords(progress);
    connection.settle("exited", { exit });
  });
  void connection.terminated.then(() => reader.cancel().catch(() => undefined));
  let cause: unknown;
  try {
    await lines(connection, reader, progress);
  } catch (error) {
    cause = error;
  }
  progress.isOver = true;
  // A process closes its stdout when it ends, and its exit code is a better reason than the end of the
  // stream.
  if (exited !== undefined) await within(EXIT_WITHIN, exited);
  if (cause === undefined) connection.settle("end_of_stream");
  else connection.settle("io", { cause });
}

/** Progress of the reader. */
interface Progress {
  chunks: number;
  isOver: boolean;
}

/**
 * Waits until all output of an ended process was read: to the end of the pipe, or until a pause if another
 * process holds the pipe open.
 */
async function lastWords(progress: Progress): Promise<void> {
  const deadline = Date.now() + LAST_WORDS;
  let silent = 0;
  while (!progress.isOver && silent < SILENT_TURNS && Date.now() < deadline) {
    const { chunks } = progress;
    await pause(SILENCE / SILENT_TURNS);
    silent = progress.chunks === chunks ? silent + 1 : 0;
  }
}

async function lines(
  connection: Connection,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  progress: Progress,
): Promise<void> {
  const framer = new Framer({ maxLine: connection.settings.maxLine });
  /** Set while a subscriber must make room. Meanwhile, further lines are held. */
  let waiting: Promise<void> | undefined;
  let held: (string | FramingError)[] = [];
  const accept = (line: string | FramingError): void => {
    if (waiting !== undefined) held.push(line);
    else waiting = take(connection, line, framer);
  };
  const sink = { line: accept, fault: accept };
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
    const breath = connection.breathe();
    if (breath !== undefined) await breath;
  }
  connection.pieces?.interrupted("the end of the connection");
}

/** Handles one line. Returns a promise only if a subscriber must make room first. */
function take(connection: Connection, line: string | FramingError, framer: Framer): Promise<void> | undefined {
  let members: Members | string | undefined;
  if (typeof line === "string") {
    if (line.length >= LAZY_FROM) members = scanMembers(line, framer.seen);
    // Events that carry a key are stripped here, so that no later code can expose the key.
    if (members || framer.maySeal) line = sealed(line, members) ?? line;
  }
  if (connection.ended !== undefined) return lost(connection, line);
  if (typeof line !== "string") {
    connection.tap.diagnostic({ kind: "framing", error: line });
    return void lostLine(connection, line.head, line.message);
  }
  if (line.charCodeAt(0) !== OPEN_BRACE && line.trim() === "") return undefined;
  const { pieces, tap } = connection;
  // The tap receives a frame only when it is complete, so that no piece exposes a key.
  let unseen = tap.seesFrames;
  try {
    const report = (number: string): void => tap.diagnostic({ kind: "inexact_number", number });
    let object = parseObject(line, framer, members, report);
    const whole = pieces === undefined ? line : pieces.pass(object, line);
    if (whole === undefined) return undefined;
    const isOther = whole !== line;
    if (isOther) line = sealed(whole) ?? whole;
    connection.recent.push(line);
    if (unseen) tap.frame("received", line);
    unseen = false;
    if (isOther) object = parseObject(line, undefined, "", report);
    connection.settings.watch?.("received", line);
    if (!connection.isOwn && connection.isOfOtherDialect(object, line)) return undefined;
    // Fast path for events, which are most lines.
    if (connection.spec.framing === "flat") {
      const { type } = object;
      connection.lookAtEvent(type, object, true);
      const known = connection.eventSpec(type);
      if (known !== undefined && !connection.isOwn) connection.speaksOwnDialect();
      if (known !== undefined && connection.settings.validate === undefined) return event(connection, new EventFrame(type as string, object, line, known), undefined);
    }
    const routed = route(connection.spec, object, line);
    switch (routed.kind) {
      case "event": {
        const { type, body, session } = routed;
        connection.lookAtEvent(type, body, body === object);
        const declared = connection.eventSpec(type);
        if (declared !== undefined) connection.speaksOwnDialect();
        const known = declared && fits(connection, "event", type, body) === undefined ? declared : undefined;
        if (declared === undefined) tap.diagnostic({ kind: "unknown_frame", type });
        return event(connection, new EventFrame(type, body, line, known, session), session);
      }
      case "answer":
        connection.speaksOwnDialect();
        return void answer(connection, routed.id, routed.command, routed.success, routed.frame, line);
      case "dialog":
        return connection.dialogs.take(rawMember(line, "id", routed.id), routed.id, routed.method, routed.params);
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    if (unseen) tap.frame("received", line);
    pieces?.interrupted("another frame");
    lostLine(connection, line, error.message);
    const text = redact(line.slice(0, SHOWN), line.length > SHOWN);
    return void tap.diagnostic({ kind: "noise", text, message: error.message });
  }
}

/** Counts an event that was read but could not be delivered before the end of the connection. */
function lost(connection: Connection, line: string | FramingError): undefined {
  if (typeof line !== "string") return;
  try {
    const routed = route(connection.spec, parseObject(line), line);
    if (routed.kind !== "event") return;
    const { type, body, session } = routed;
    connection.deliver(new EventFrame(type, body, line, undefined, session), session);
  } catch {
    // Other text is not a lost event.
  }
}

/** Delivers an event to all subscribers. Runs process their end after the event is in their queues. */
function event(connection: Connection, frame: EventFrame, session: string | undefined): Promise<void> | undefined {
  connection.runs.tell(session, frame);
  const full = connection.deliver(frame, session);
  if (full !== undefined) return wait(connection, full, frame, session);
  if (frame.spec?.run !== undefined) tell(connection, frame.spec, frame, session);
  return undefined;
}

async function wait(
  connection: Connection,
  full: Queue<EventFrame>[],
  frame: EventFrame,
  session: string | undefined,
): Promise<void> {
  connection.isBlocked = true;
  for (const queue of full) {
    do await queue.room(frame.size);
    while (queue.push(frame) === "full");
  }
  connection.isBlocked = false;
  if (frame.spec !== undefined) tell(connection, frame.spec, frame, session);
}

function tell(connection: Connection, spec: EventSpec, frame: EventFrame, session: string | undefined): void {
  const input = effect(spec, frame.body);
  if (input === undefined) return;
  if (spec.run === "may_end" || spec.run === "ends") connection.runs.note(session, frame);
  connection.runs.feedAll(session, input);
}

function effect({ run, member = "" }: EventSpec, body: JsonObject): Input | undefined {
  switch (run) {
    case "may_end_unless":
      return body[member] === true ? "holds" : "may_end";
    case "may_end_if":
      return body[member] === false ? "holds" : "may_end";
    case "holds_if":
      // The prompt had no effect, even if events of it were seen.
      return body[member] === false ? "replaced" : "holds";
    default:
      return run;
  }
}

/** Routes a response to its call. */
function answer(
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
    // A failure after the acknowledgement belongs to the run of the command.
    const run = key === undefined || success ? undefined : runs.of(key);
    if (run !== undefined) runs.fail(run, new RefusedError(refused(spec, command, command, frame["error"], false)));
    else connection.tap.diagnostic({ kind: "unmatched_answer", id: key, command });
    return;
  }
  const role = row(spec.commands, settled.command)?.run;
  const run = role === "starts" ? runs.of(settled.id) : undefined;
  if (success) {
    connection.lookAtAnswer(settled.command, frame["data"]);
    // Real agents omit the closing events of a replaced run, so its state is queried.
    if (role === "replaces" && connection.runEnd.barrier) runs.feedAll(undefined, "replaced");
    if (role === "stops") runs.stop(settled.session);
    if (run !== undefined) runs.feed(run, "answered");
    let data: JsonValue | undefined;
    let misfit: Misfit | undefined;
    try {
      data = dataOf(frame);
      misfit = fits(connection, "answer", settled.command, data);
    } catch (error) {
      return settled.waiter.failed(error);
    }
    if (misfit === undefined) return settled.waiter.answered(data);
    const message = `the answer to \`${settled.command}\` does not fit its declaration: ${misfitText(misfit)}`;
    return settled.waiter.failed(new DecodeError(message, line));
  }
  const named = settled.attributed ? settled.command : (command ?? settled.command);
  const refusal = new RefusedError(refused(spec, command, named, frame["error"], settled.attributed));
  const error = connection.failureOf(settled.command, refusal);
  if (run !== undefined) runs.fail(run, error);
  settled.waiter.failed(error);
}

/** Builds the error of a rejection. `named` is the command in the response, `command` the rejected one. */
function refused(
  spec: Spec<AnyTypes>,
  named: string | undefined,
  command: string | undefined,
  error: JsonValue | undefined,
  attributed: boolean,
): Refused {
  const isObject = typeof error === "object" && error !== null && !Array.isArray(error);
  const object: JsonObject = isObject ? error : { message: error ?? null };
  const data = object["data"];
  const code = typeof object["code"] === "number" ? object["code"] : undefined;
  const message = typeof object["message"] === "string" ? object["message"] : "the agent gave no reason";
  return { kind: failureKind(spec, named, message, code) ?? "refused", command, message, code, data, attributed };
}
