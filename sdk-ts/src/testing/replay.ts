/**
 * Playing an agent from a transcript.
 *
 * The player waits for what the recorded client said, by command, and then says what the recorded
 * agent said. Ids are the client's own: where the transcript's client said `p1`, the answer carries
 * what this client said in its place. A command that the transcript does not have at this point (a
 * client that asks for the state to be sure) is answered from the last answer to the same command,
 * and with a failure that names it where the transcript has none.
 */

import { Framer } from "../framing.js";
import type { JsonObject, JsonValue, TranscriptRecord } from "../generated/types.js";
import { route } from "../route.js";
import { type AnyTypes, type Spec, isAnswer, row } from "../spec.js";
import { pause } from "../timer.js";
import { readTranscript, recordedLine } from "../transcript.js";
import type { Transport } from "../transport.js";

/** How a transcript is played. */
export interface ReplayOptions {
  /** How many times as fast as it was recorded; without it at once. */
  readonly speed?: number | undefined;
  /** Ends the playing, and the agent's side of the transport with it. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Plays the agent's side of a transcript to the client at the other end of the transport. Resolves
 * when the client closes its end after the last line, or at the recorded end of an agent that ended
 * in the middle of its work.
 *
 * Fails where the text is not a transcript, the client ends early, or the streams fail.
 */
export async function replay(
  spec: Spec<AnyTypes>,
  transcript: string,
  transport: Transport,
  options: ReplayOptions = {},
): Promise<void> {
  const { records } = readTranscript(transcript);
  const player = new Player(spec, transport);
  options.signal?.addEventListener("abort", () => void player.end());
  let before: number | undefined;
  for (const record of records) {
    if (options.signal?.aborted) break;
    if (!("dir" in record)) continue;
    const line = recordedLine(record);
    if (record.dir === "c2s" && line !== undefined) {
      await player.hear(line);
    } else if (record.dir === "s2c" && line !== undefined) {
      const { speed } = options;
      if (speed !== undefined && before !== undefined) await pause(Math.max(0, (record.t ?? 0) - before) / speed);
      await player.say(line);
    } else if (record.dir === "ctl" && record.event === "exit") {
      // An agent that ended in the middle of its work does so here.
      if (endsAtWork(spec, records)) return player.end();
      break;
    }
    before = record.t;
  }
  // Whatever the client still asks is answered, until it has had enough.
  for (let line = await player.next(); line !== undefined; line = await player.next()) await player.improvise(line);
  await player.end();
}

/** Whether the last event that says something about a run says that it goes on. */
export function endsAtWork(spec: Spec<AnyTypes>, records: readonly TranscriptRecord[]): boolean {
  let works = false;
  for (const record of records) {
    const line = "dir" in record && record.dir === "s2c" ? recordedLine(record) : undefined;
    const frame = line === undefined ? undefined : object(line);
    if (line === undefined || frame === undefined) continue;
    try {
      const routed = route(spec, frame, line);
      const run = routed.kind === "event" ? row(spec.events, routed.type)?.run : undefined;
      if (run !== undefined) works = run === "begins" || run.startsWith("holds");
    } catch {
      // No frame says nothing.
    }
  }
  return works;
}

function object(line: string): JsonObject | undefined {
  try {
    const value = JSON.parse(line) as JsonValue;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

class Player {
  readonly #spec: Spec<AnyTypes>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #framer = new Framer();
  readonly #heard: string[] = [];
  /** What this client said in place of the transcript's ids, and for which command. */
  readonly #ids = new Map<string, { id: JsonValue | undefined; command: string | undefined }>();
  /** Commands that the transcript's client sent without an id, with what this client gave them. */
  readonly #anonymous: { command: string; id: JsonValue | undefined }[] = [];
  /** The last answer to each command. */
  readonly #last = new Map<string, JsonObject>();

  constructor(spec: Spec<AnyTypes>, transport: Transport) {
    this.#spec = spec;
    this.#reader = transport.readable.getReader();
    this.#writer = transport.writable.getWriter();
    // Whoever writes sees it.
    this.#writer.closed.catch(() => undefined);
  }

  /** The client's next line; none when it has closed its end. */
  async next(): Promise<string | undefined> {
    const sink = { line: (text: string): void => void this.#heard.push(text), fault: (): void => undefined };
    while (this.#heard.length === 0) {
      const { done, value } = await this.#reader.read();
      if (!done) this.#framer.push(value, sink);
      else if (!this.#framer.finish(sink)) return undefined;
    }
    return this.#heard.shift();
  }

  /** Waits for the client to say the same. */
  async hear(expected: string): Promise<void> {
    const frame = object(expected);
    const name = this.#nameOf(frame);
    for (;;) {
      const line = await this.next();
      if (line === undefined) throw new Error(`the client closed the connection; the transcript expects ${name ?? expected}`);
      const said = object(line);
      if (this.#nameOf(said) === name) {
        if (frame?.["id"] !== undefined) this.#ids.set(JSON.stringify(frame["id"]), { id: said?.["id"], command: name });
        else if (name !== undefined) this.#anonymous.push({ command: name, id: said?.["id"] });
        return;
      }
      await this.improvise(line, name);
    }
  }

  /** Says what the agent said, with the client's ids. */
  async say(line: string): Promise<void> {
    const frame = object(line);
    if (frame === undefined || !(frame["type"] === "response" || "result" in frame || "error" in frame)) {
      return this.#write(line);
    }
    const known = frame["id"] === undefined ? undefined : this.#ids.get(JSON.stringify(frame["id"]));
    const command = typeof frame["command"] === "string" ? frame["command"] : known?.command;
    if (command !== undefined) this.#last.set(command, frame);
    if (known !== undefined) return this.#write(withId(frame, known.id));
    const at = frame["id"] === undefined ? this.#anonymous.findIndex((call) => call.command === command) : -1;
    const [anonymous] = at < 0 ? [] : this.#anonymous.splice(at, 1);
    return this.#write(anonymous === undefined ? line : withId(frame, anonymous.id));
  }

  /** Answers a command that the transcript does not have here, where it has `expected`. */
  async improvise(line: string, expected?: string): Promise<void> {
    const said = object(line);
    const name = this.#nameOf(said);
    if (name === undefined || isAnswer(this.#spec, name)) return;
    const last = this.#last.get(name);
    if (last === undefined) return this.#write(this.#unrecorded(name, said?.["id"], expected));
    const answer: JsonObject = structuredClone(last);
    const { barrier } = this.#spec.runEnd;
    const { data } = answer;
    if (barrier?.command === name && typeof data === "object" && data !== null && !Array.isArray(data)) {
      // A client asks for this to know whether anything follows: what follows is in the transcript,
      // and stands behind this answer only if it came later.
      data[barrier.busy] = false;
    }
    await this.#write(withId(answer, said?.["id"]));
  }

  /** The failure that answers a command of which the transcript knows nothing. */
  #unrecorded(name: string, id: JsonValue | undefined, expected: string | undefined): string {
    const here = expected === undefined ? "" : ` here; its next command is \`${expected}\``;
    const message = `the transcript has no answer to \`${name}\`${here}`;
    if (this.#spec.framing === "json-rpc") {
      return JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error: { code: -32603, message } });
    }
    return JSON.stringify({ id, type: "response", command: name, success: false, error: message });
  }

  end(): Promise<void> {
    return this.#writer.close().catch(() => undefined);
  }

  #nameOf(frame: JsonObject | undefined): string | undefined {
    const name = frame?.[this.#spec.framing === "json-rpc" ? "method" : "type"];
    return typeof name === "string" ? name : undefined;
  }

  #write(line: string): Promise<void> {
    return this.#writer.write(new TextEncoder().encode(`${line}\n`));
  }
}

function withId(frame: JsonObject, id: JsonValue | undefined): string {
  const { id: _id, ...rest } = frame;
  return JSON.stringify(id === undefined ? rest : "id" in frame ? { ...frame, id } : { id, ...rest });
}
