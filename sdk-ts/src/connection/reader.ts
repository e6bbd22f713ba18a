/** The reader: every line is looked at once and goes where it belongs. */

import { DecodeError, type Refused, RefusedError } from "../error.js";
import { EventFrame } from "../event.js";
import { Framer, type FramingError } from "../framing.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { parseObject, rawMember } from "../json.js";
import type { Queue } from "../queue.js";
import { redact } from "../redact.js";
import { dataOf, route } from "../route.js";
import type { Input } from "../run_tracker.js";
import { type EventSpec, row } from "../spec.js";
import { EXIT_WITHIN, LAST_WORDS, pause, within } from "../timer.js";
import type { Transport } from "../transport.js";
import type { Connection } from "./connection.js";

/** How much of a line that is no frame is shown. */
const SHOWN = 200;

const OPEN_BRACE = 0x7b;

/** Reads until the end, and settles the connection with it. Never fails. */
export async function read(connection: Connection, { readable, child }: Transport): Promise<void> {
  const reader = readable.getReader();
  // The exit is watched beside the reader: a reader that waits for a subscriber must not hold up
  // the end of every call.
  const exited = child?.exited.then(async (exit) => {
    await pause(LAST_WORDS);
    connection.settle("exited", { exit });
  });
  void connection.terminated.then(() => reader.cancel().catch(() => undefined));
  let cause: unknown;
  try {
    await lines(connection, reader);
  } catch (error) {
    cause = error;
  }
  // A process closes its stdout when it ends: its exit code says more than the end of the stream.
  if (exited !== undefined) await within(EXIT_WITHIN, exited);
  if (cause === undefined) connection.settle("end_of_stream");
  else connection.settle("io", { cause });
}

async function lines(connection: Connection, reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const framer = new Framer({ maxLine: connection.settings.maxLine });
  /** A subscriber has to make room first; what comes meanwhile is held. */
  let waiting: Promise<void> | undefined;
  let held: (string | FramingError)[] = [];
  const accept = (line: string | FramingError): void => {
    if (waiting !== undefined) held.push(line);
    else if (connection.ended === undefined) waiting = take(connection, line, framer);
  };
  const sink = { line: accept, fault: accept };
  for (let more = true; more && connection.ended === undefined; ) {
    const { done, value } = await reader.read();
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
}

/** Takes one line. Gives a promise only where a subscriber has to make room first. */
function take(connection: Connection, line: string | FramingError, framer: Framer): Promise<void> | undefined {
  if (typeof line !== "string") return void connection.tap.diagnostic({ kind: "framing", error: line });
  if (line.charCodeAt(0) !== OPEN_BRACE && line.trim() === "") return undefined;
  if (connection.tap.seesFrames) connection.tap.frame("received", line);
  try {
    const object = parseObject(line, framer);
    connection.recent.push(line);
    const { type } = object;
    // What most lines are, told without more ado.
    const known = connection.spec.framing === "flat" ? connection.eventSpec(type) : undefined;
    if (known !== undefined) return event(connection, new EventFrame(type as string, object, line, known), undefined);
    const routed = route(connection.spec, object, line);
    switch (routed.kind) {
      case "event": {
        const { type, body, session } = routed;
        const known = connection.eventSpec(type);
        if (known === undefined) connection.tap.diagnostic({ kind: "unknown_frame", type });
        return event(connection, new EventFrame(type, body, line, known), session);
      }
      case "answer":
        return void answer(connection, routed.id, routed.command, routed.success, routed.frame);
      case "dialog":
        return connection.dialogs.take(rawMember(line, "id", routed.id), routed.id, routed.method, routed.params);
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const text = redact(line.slice(0, SHOWN));
    return void connection.tap.diagnostic({ kind: "noise", text, reason: error.reason });
  }
}

/** Hands an event to all who listen. The runs hear of their end after the event is in their queues. */
function event(connection: Connection, frame: EventFrame, session: string | undefined): Promise<void> | undefined {
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
    case "holds_if":
      return body[member] === false ? "may_end" : "holds";
    default:
      return run;
  }
}

/** Gives an answer to the call that it belongs to. */
function answer(
  connection: Connection,
  id: JsonValue | undefined,
  command: string | undefined,
  success: boolean,
  frame: JsonObject,
): void {
  const { pending, runs, spec } = connection;
  const key = id === undefined ? undefined : typeof id === "string" ? id : JSON.stringify(id);
  const settled =
    key !== undefined
      ? pending.settle(key)
      : success
        ? undefined
        : pending.attribute(command, spec.parseCommand);
  if (settled === undefined) {
    // A failure after the acknowledgement belongs to the run that the command started.
    const run = key === undefined || success ? undefined : runs.of(key);
    if (run !== undefined) runs.fail(run, new RefusedError(refused(command, frame["error"], false)));
    else connection.tap.diagnostic({ kind: "unmatched_answer", id: key, command });
    return;
  }
  const role = row(spec.commands, settled.command)?.run;
  const run = role === "starts" ? runs.of(settled.id) : undefined;
  if (success) {
    // Real agents swallow the closing events of a run that is replaced: look whether it goes on.
    if (role === "replaces" && spec.runEnd.barrier) runs.feedAll(undefined, "may_end");
    let data: JsonValue | undefined;
    try {
      data = dataOf(frame);
    } catch (error) {
      return settled.waiter.failed(error);
    }
    if (run !== undefined) runs.feed(run, "answered");
    return settled.waiter.answered(data);
  }
  const named = settled.attributed ? settled.command : (command ?? settled.command);
  const error = new RefusedError(refused(named, frame["error"], settled.attributed));
  if (run !== undefined) runs.fail(run, error);
  settled.waiter.failed(error);
}

function refused(command: string | undefined, error: JsonValue | undefined, attributed: boolean): Refused {
  if (typeof error === "object" && error !== null && !Array.isArray(error)) {
    const { message, code, data } = error;
    return {
      command,
      reason: typeof message === "string" ? message : "",
      code: typeof code === "number" ? code : undefined,
      data,
      attributed,
    };
  }
  return { command, reason: typeof error === "string" ? error : "the agent gave no reason", attributed };
}
