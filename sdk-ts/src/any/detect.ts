/**
 * Detection of an agent's dialect. The client sends one harmless command in each framing and compares the
 * responses with the declarations of all dialects.
 */

import { shapes, validate } from "../check.js";
import { Framer } from "../framing.js";
import { frames } from "../generated/shapes.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { redact, redactText } from "../redact.js";
import type { Spec } from "../spec.js";
import { later } from "../timer.js";
import { exited, oneLine } from "../termination.js";
import type { Exit, Transport } from "../transport.js";
import { isObject } from "../ui/read.js";
import { NotRecognisedError } from "./errors.js";
import { Table } from "./table.js";

/** Prefix of the ids of these commands. */
const ASKED = "agentese-detect-";

/** Time limit of the other responses after the first successful one, in milliseconds. */
const REST = 300;

/** Maximum number of inspected lines. */
const LINES = 300;

interface Question {
  readonly id: string;
  readonly command: string;
  readonly isRpc: boolean;
}

/**
 * Detects which of the given dialects the agent speaks. The returned transport repeats all received lines
 * except the responses.
 */
export async function detect(transport: Transport, specs: readonly Spec[], within: number): Promise<{ spec: Spec; transport: Transport }> {
  const questions = ask(specs);
  const encoder = new TextEncoder();
  const writer = transport.writable.getWriter();
  const lines = questions.map(({ id, command, isRpc }) =>
    JSON.stringify(isRpc ? { jsonrpc: "2.0", id, method: command, params: {} } : { id, type: command }),
  );
  // The output of a program that has already ended is still read.
  let isWritten = false;
  writer.write(encoder.encode(`${lines.join("\n")}\n`)).then(
    () => (isWritten = true),
    () => undefined,
  );
  writer.releaseLock();
  const reader = transport.readable.getReader();
  const heard: JsonObject[] = [];
  const others: string[] = [];
  const framer = new Framer();
  // The returned transport repeats the start of an unfinished line.
  let rest = new Uint8Array(0);
  let hasEnded = false;
  let hasBroken = false;
  const until = Date.now() + within;
  while (heard.length < LINES && !isClear(heard, questions)) {
    const limit = heard.some(isSuccess) ? Math.min(until, Date.now() + REST) : until;
    const next = pending(reader).catch(() => "broken" as const);
    const read = await unlessLate(next, limit - Date.now());
    if (read === undefined) break;
    if (read === "broken") {
      // The read fails again for the next reader.
      hasBroken = true;
      break;
    }
    unread.delete(reader);
    hasEnded = read.done;
    if (read.done) break;
    const bytes = joined(rest, read.value);
    const end = bytes.lastIndexOf(0x0a) + 1;
    rest = bytes.slice(end);
    framer.push(bytes.slice(0, end), {
      line(text) {
        const frame = parse(text);
        if (frame !== undefined) heard.push(frame);
        if (frame === undefined || !isAnswer(frame)) others.push(text);
      },
      fault: () => undefined,
    });
  }
  const spec = weigh(specs, heard, questions);
  if (spec === undefined) {
    const exit = await transport.child?.shutdown();
    if (exit === undefined) leave(reader, transport.writable, isWritten);
    const shown = heard[0] === undefined ? undefined : redact(JSON.stringify(heard[0])).slice(0, 80);
    throw new NotRecognisedError(
      shown !== undefined
        ? `it says \`${shown}\``
        : hasBroken
          ? "reading from it failed"
          : hasEnded
            ? `it ended before it said anything${exit === undefined ? "" : ` (${exited(exit)})${lastWords(exit)}`}`
            : `it said nothing within ${within} ms`,
    );
  }
  const again = encoder.encode(others.map((text) => `${text}\n`).join(""));
  return { spec, transport: { ...transport, readable: behind(joined(again, rest), reader, hasEnded) } };
}

/** Returns the last line of the agent's stderr as the end of a sentence. */
function lastWords({ stderrTail }: Exit): string {
  const last = stderrTail.trim().split("\n").at(-1)?.trim() ?? "";
  return last === "" ? "" : `: ${oneLine(redactText(last))}`;
}

/** Releases the streams of an agent that stays unused. Unwritten commands are dropped. */
function leave(reader: ReadableStreamDefaultReader<Uint8Array>, writable: WritableStream<Uint8Array>, isWritten: boolean): void {
  const ignore = (): void => undefined;
  reader.cancel().catch(ignore);
  reader.releaseLock();
  (isWritten ? writable.close() : writable.abort()).catch(ignore);
}

/** Reads in progress, by reader. */
const unread = new WeakMap<object, Promise<ReadableStreamReadResult<Uint8Array>>>();

function pending(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<ReadableStreamReadResult<Uint8Array>> {
  const known = unread.get(reader) ?? reader.read();
  unread.set(reader, known);
  return known;
}

/** Returns a stream of the given bytes, followed by all bytes of the reader. */
function behind(first: Uint8Array, reader: ReadableStreamDefaultReader<Uint8Array>, hasEnded: boolean): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (first.length > 0) controller.enqueue(first);
      if (hasEnded) controller.close();
    },
    async pull(controller) {
      const { done, value } = await pending(reader);
      unread.delete(reader);
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

/** Returns the awaited value, or `undefined` after the time limit. */
async function unlessLate<R>(awaited: Promise<R>, milliseconds: number): Promise<R | undefined> {
  let timer: ReturnType<typeof later>;
  const late = new Promise<undefined>((resolve) => (timer = later(Math.max(1, milliseconds), () => resolve(undefined))));
  const first = await Promise.race([awaited, late]);
  clearTimeout(timer);
  return first;
}

function ask(specs: readonly Spec[]): Question[] {
  const asked: Question[] = [];
  for (const spec of specs) {
    const { probe } = new Table(spec.name).carriers;
    const isRpc = spec.framing === "json-rpc";
    if (asked.some((known) => known.command === probe && known.isRpc === isRpc)) continue;
    asked.push({ id: `${ASKED}${asked.length}`, command: probe, isRpc });
  }
  return asked;
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
 * Returns `true` if a frame responds to one of these commands. Agents reject unknown commands without an id.
 */
function isAnswer(frame: JsonObject): boolean {
  const { id, success, error } = frame;
  // Events may have an `error` too.
  const fails = success === false || (error ?? null) !== null;
  return String(id).startsWith(ASKED) || ((id ?? null) === null && fails && isResponse(frame));
}

/** Returns `true` if a frame is the response to a command, in its framing. */
function isResponse({ type, jsonrpc, method }: JsonObject): boolean {
  return type === "response" || (jsonrpc === "2.0" && method === undefined);
}

function isSuccess({ success, result }: JsonObject): boolean {
  return success === true || (result ?? null) !== null;
}

function isClear(heard: readonly JsonObject[], questions: readonly Question[]): boolean {
  return heard.some(isSuccess) && heard.filter(isResponse).length >= questions.length;
}

/**
 * Returns the dialect with the highest score. If a dialect and its extension score alike, returns the base
 * dialect.
 */
function weigh(specs: readonly Spec[], heard: readonly JsonObject[], questions: readonly Question[]): Spec | undefined {
  let best: { spec: Spec; score: number } | undefined;
  for (const spec of specs) {
    const score = heard.reduce((sum, frame) => sum + scoreOf(spec, frame, questions), 0);
    if (score > 0 && (best === undefined || score > best.score)) best = { spec, score };
  }
  return best?.spec;
}

function scoreOf(spec: Spec, frame: JsonObject, questions: readonly Question[]): number {
  const isRpc = spec.framing === "json-rpc";
  if ((frame["jsonrpc"] === "2.0") !== isRpc) return -10;
  if (!isSuccess(frame)) return 0;
  const command = questions.find(({ id }) => id === frame["id"])?.command;
  if (command === undefined) return 0;
  const data: JsonValue | undefined = frame[isRpc ? "result" : "data"];
  if (spec.commands[command] === undefined || validate(spec, "answer", command, data) !== undefined) return -5;
  const type = frames[spec.name]?.answers[command]?.type;
  const shape = typeof type === "object" && "is" in type ? shapes[type.is] : undefined;
  const declared = shape !== undefined && "members" in shape ? shape.members : {};
  return 10 - 2 * Object.keys(isObject(data) ? data : {}).filter((name) => !Object.hasOwn(declared, name)).length;
}
