/**
 * Detection of an agent's dialect. The client sends one harmless command in each framing and compares the
 * responses with the declarations of all dialects. An agent that rejects them as JSON-RPC receives the handshakes of
 * the protocols that have no client.
 */

import { bridgeInstruction, handshakes, protocolOfAnswer } from "../bridged.js";
import { shapes, validate } from "../check.js";
import { Framer } from "../framing.js";
import { frames } from "../generated/shapes.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { redact, redactText } from "../redact.js";
import type { BridgedProtocol, Spec } from "../spec.js";
import { later } from "../timer.js";
import { describeExit, oneLine } from "../termination.js";
import type { Exit, Transport } from "../transport.js";
import { isObject } from "../ui/read.js";
import { NotRecognisedError } from "./errors.js";
import { IntentTable } from "./table.js";

/** Prefix of the ids of the commands that the detection sends. */
const PROBE_ID_PREFIX = "agentese-detect-";

/** Time limit for the other responses after the first successful one, in milliseconds. */
const REMAINING_WAIT = 300;

/** Maximum number of inspected lines. */
const MAX_LINES = 300;

interface ProbeRequest {
  readonly id: string;
  readonly command: string;
  readonly isRpc: boolean;
}

/**
 * Detects which of the given dialects the agent speaks. The returned transport provides all received lines
 * again, except the responses to the detection.
 */
export async function detect(transport: Transport, specs: readonly Spec[], within: number): Promise<{ spec: Spec; transport: Transport }> {
  const probes = probesFor(specs);
  const encoder = new TextEncoder();
  let isWritten = false;
  const send = (frames: readonly JsonObject[]): void => {
    const writer = transport.writable.getWriter();
    isWritten = false;
    // The output of a program that has already ended is still read.
    writer.write(encoder.encode(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(""))).then(
      () => (isWritten = true),
      () => undefined,
    );
    writer.releaseLock();
  };
  send(probes.map(({ id, command, isRpc }) => (isRpc ? { jsonrpc: "2.0", id, method: command, params: {} } : { id, type: command })));
  const reader = transport.readable.getReader();
  const received: JsonObject[] = [];
  const others: string[] = [];
  const framer = new Framer();
  // The returned transport provides the start of an unfinished line again.
  let rest = new Uint8Array(0);
  let hasEnded = false;
  let hasBroken = false;
  let hasSentHandshakes = false;
  let bridged: BridgedProtocol | undefined;
  const until = Date.now() + within;
  while (received.length < MAX_LINES && bridged === undefined && !isDecided(received, probes)) {
    const limit = received.some(isSuccess) ? Math.min(until, Date.now() + REMAINING_WAIT) : until;
    const next = pendingRead(reader).catch(() => "broken" as const);
    const read = await withTimeout(next, limit - Date.now());
    if (read === undefined) break;
    if (read === "broken") {
      // The read fails again for the next reader of the transport.
      hasBroken = true;
      break;
    }
    pendingReads.delete(reader);
    hasEnded = read.done;
    if (read.done) break;
    const bytes = concatBytes(rest, read.value);
    const end = bytes.lastIndexOf(0x0a) + 1;
    rest = bytes.slice(end);
    framer.push(bytes.slice(0, end), {
      line(text) {
        const frame = parse(text);
        if (frame !== undefined) received.push(frame);
        if (frame === undefined || !isProbeResponse(frame)) others.push(text);
        if (frame !== undefined) bridged ??= protocolOfAnswer(PROBE_ID_PREFIX, frame);
      },
      error: () => undefined,
    });
    if (!hasSentHandshakes && received.some(isRejectedProbe)) {
      hasSentHandshakes = true;
      send(handshakes(PROBE_ID_PREFIX));
    }
  }
  const spec = bridged === undefined ? bestMatch(specs, received, probes) : undefined;
  if (spec === undefined) {
    const exit = await transport.child?.shutdown();
    if (exit === undefined) releaseStreams(reader, transport.writable, isWritten);
    const shown = received[0] === undefined ? undefined : redact(JSON.stringify(received[0])).slice(0, 80);
    if (bridged !== undefined) throw new NotRecognisedError(bridgeInstruction(bridged));
    throw new NotRecognisedError(
      shown !== undefined
        ? `unknown output \`${shown}\``
        : hasBroken
          ? "reading from it failed"
          : hasEnded
            ? `it ended without output${exit === undefined ? "" : ` (${describeExit(exit)})${lastStderrLine(exit)}`}`
            : `it sent no output within ${within} ms`,
    );
  }
  const again = encoder.encode(others.map((text) => `${text}\n`).join(""));
  return { spec, transport: { ...transport, readable: prependBytes(concatBytes(again, rest), reader, hasEnded) } };
}

/** Returns the last line of the agent's stderr as the end of a sentence. */
function lastStderrLine({ stderrTail }: Exit): string {
  const last = stderrTail.trim().split("\n").at(-1)?.trim() ?? "";
  return last === "" ? "" : `: ${oneLine(redactText(last))}`;
}

/** Releases the streams of an agent that will not be used. Unwritten commands are dropped. */
function releaseStreams(reader: ReadableStreamDefaultReader<Uint8Array>, writable: WritableStream<Uint8Array>, isWritten: boolean): void {
  const ignore = (): void => undefined;
  reader.cancel().catch(ignore);
  reader.releaseLock();
  (isWritten ? writable.close() : writable.abort()).catch(ignore);
}

/** Reads in progress, by reader. */
const pendingReads = new WeakMap<object, Promise<ReadableStreamReadResult<Uint8Array>>>();

function pendingRead(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<ReadableStreamReadResult<Uint8Array>> {
  const known = pendingReads.get(reader) ?? reader.read();
  pendingReads.set(reader, known);
  return known;
}

/** Returns a stream of the given bytes, followed by all bytes of the reader. */
function prependBytes(first: Uint8Array, reader: ReadableStreamDefaultReader<Uint8Array>, hasEnded: boolean): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (first.length > 0) controller.enqueue(first);
      if (hasEnded) controller.close();
    },
    async pull(controller) {
      const { done, value } = await pendingRead(reader);
      pendingReads.delete(reader);
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function concatBytes(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

/** Returns the value of a promise, or `undefined` after the time limit. */
async function withTimeout<R>(awaited: Promise<R>, milliseconds: number): Promise<R | undefined> {
  let timer: ReturnType<typeof later>;
  const late = new Promise<undefined>((resolve) => (timer = later(Math.max(1, milliseconds), () => resolve(undefined))));
  const first = await Promise.race([awaited, late]);
  clearTimeout(timer);
  return first;
}

function probesFor(specs: readonly Spec[]): ProbeRequest[] {
  const probes: ProbeRequest[] = [];
  for (const spec of specs) {
    const { probe } = new IntentTable(spec.name).mappings;
    const isRpc = spec.framing === "json-rpc";
    if (probes.some((known) => known.command === probe && known.isRpc === isRpc)) continue;
    probes.push({ id: `${PROBE_ID_PREFIX}${probes.length}`, command: probe, isRpc });
  }
  return probes;
}

function parse(text: string): JsonObject | undefined {
  try {
    const frame: unknown = JSON.parse(text);
    return isObject(frame) ? frame : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns `true` if a frame is a response to the detection's commands. Some agents reject unknown commands
 * without an id.
 */
function isProbeResponse(frame: JsonObject): boolean {
  const { id, success, error } = frame;
  // Events may also have a member `error`.
  const fails = success === false || (error ?? null) !== null;
  return String(id).startsWith(PROBE_ID_PREFIX) || ((id ?? null) === null && fails && isResponse(frame));
}

/** Returns `true` if a frame is the rejection of one of these commands in JSON-RPC. */
function isRejectedProbe({ jsonrpc, id, error }: JsonObject): boolean {
  return jsonrpc === "2.0" && String(id).startsWith(PROBE_ID_PREFIX) && (error ?? null) !== null;
}

/** Returns `true` if a frame is the response to a command, in its framing. */
function isResponse({ type, jsonrpc, method }: JsonObject): boolean {
  return type === "response" || (jsonrpc === "2.0" && method === undefined);
}

function isSuccess({ success, result }: JsonObject): boolean {
  return success === true || (result ?? null) !== null;
}

function isDecided(received: readonly JsonObject[], probes: readonly ProbeRequest[]): boolean {
  return received.some(isSuccess) && received.filter(isResponse).length >= probes.length;
}

/**
 * Returns the dialect with the highest score. If a dialect and another that extends it have the same score,
 * returns the base dialect.
 */
function bestMatch(specs: readonly Spec[], received: readonly JsonObject[], probes: readonly ProbeRequest[]): Spec | undefined {
  let best: { spec: Spec; score: number } | undefined;
  for (const spec of specs) {
    const score = received.reduce((sum, frame) => sum + scoreOf(spec, frame, probes), 0);
    if (score > 0 && (best === undefined || score > best.score)) best = { spec, score };
  }
  return best?.spec;
}

function scoreOf(spec: Spec, frame: JsonObject, probes: readonly ProbeRequest[]): number {
  const isRpc = spec.framing === "json-rpc";
  if ((frame["jsonrpc"] === "2.0") !== isRpc) return -10;
  if (!isSuccess(frame)) return 0;
  const command = probes.find(({ id }) => id === frame["id"])?.command;
  if (command === undefined) return 0;
  const data: JsonValue | undefined = frame[isRpc ? "result" : "data"];
  if (spec.commands[command] === undefined || validate(spec, "answer", command, data) !== undefined) return -5;
  const type = frames[spec.name]?.answers[command]?.type;
  const shape = typeof type === "object" && "is" in type ? shapes[type.is] : undefined;
  const declared = shape !== undefined && "members" in shape ? shape.members : {};
  return 10 - 2 * Object.keys(isObject(data) ? data : {}).filter((name) => !Object.hasOwn(declared, name)).length;
}
