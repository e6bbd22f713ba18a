/**
 * Playback of an agent from a transcript.
 *
 * The player waits for the commands of the recorded client and then sends the lines of the recorded
 * agent. Ids of the transcript are replaced by the ids of the actual client. The client may send a
 * command that the transcript does not have at this point, for example a query of the state. The
 * player answers it with the last response to the same command, or with a failure if the transcript
 * has no such response.
 */

import { Framer } from "../framing.js";
import type { JsonObject, JsonValue, TranscriptRecord } from "../generated/types.js";
import { route } from "../route.js";
import { type AnyTypes, type Spec, isAnswer, row } from "../spec.js";
import { pause } from "../timer.js";
import { readTranscript, recordedLine } from "../transcript.js";
import type { Transport } from "../transport.js";

/** Options of a playback. */
export interface ReplayOptions {
  /** Speed relative to the recording; without it, all lines are sent at once. */
  readonly speed?: number | undefined;
  /** Ends the playback and the agent's side of the transport. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Plays the agent's side of a transcript to the client at the other end of the transport. Resolves
 * when the client closes its end after the last line, or at the recorded end of an agent that ended
 * during its work.
 *
 * Fails if the text is not a transcript, the client ends early, or the streams fail.
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
      await player.expectCommand(line);
    } else if (record.dir === "s2c" && line !== undefined) {
      const { speed } = options;
      if (speed !== undefined && before !== undefined) await pause(Math.max(0, (record.t ?? 0) - before) / speed);
      await player.sendRecorded(line);
    } else if (record.dir === "ctl" && record.event === "exit") {
      // An agent that ended during its work ends here.
      if (endsDuringRun(spec, records)) return player.end();
      break;
    }
    before = record.t;
  }
  // Further commands of the client are answered until it closes its end.
  for (let line = await player.next(); line !== undefined; line = await player.next()) await player.answerUnrecorded(line);
  await player.end();
}

/** Returns `true` if the last event with an effect on a run shows that the run continues. */
export function endsDuringRun(spec: Spec<AnyTypes>, records: readonly TranscriptRecord[]): boolean {
  let isRunning = false;
  for (const record of records) {
    const line = "dir" in record && record.dir === "s2c" ? recordedLine(record) : undefined;
    const frame = line === undefined ? undefined : object(line);
    if (line === undefined || frame === undefined) continue;
    try {
      const routed = route(spec, frame, line);
      const run = routed.kind === "event" ? row(spec.events, routed.type)?.run : undefined;
      if (run !== undefined) isRunning = run === "begins" || run.startsWith("holds");
    } catch {
      // Other text has no effect.
    }
  }
  return isRunning;
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
  readonly #received: string[] = [];
  /** Ids of this client by the ids of the transcript, with their commands. */
  readonly #ids = new Map<string, { id: JsonValue | undefined; command: string | undefined }>();
  /** Commands of the transcript without an id, with the ids that this client used. */
  readonly #anonymous: { command: string; id: JsonValue | undefined }[] = [];
  /** Last response to each command. */
  readonly #last = new Map<string, JsonObject>();

  constructor(spec: Spec<AnyTypes>, transport: Transport) {
    this.#spec = spec;
    this.#reader = transport.readable.getReader();
    this.#writer = transport.writable.getWriter();
    // Each write reports the failure.
    this.#writer.closed.catch(() => undefined);
  }

  /** Returns the client's next line; `undefined` when the client has closed its end. */
  async next(): Promise<string | undefined> {
    const sink = { line: (text: string): void => void this.#received.push(text), error: (): void => undefined };
    while (this.#received.length === 0) {
      const { done, value } = await this.#reader.read();
      if (!done) this.#framer.push(value, sink);
      else if (!this.#framer.finish(sink)) return undefined;
    }
    return this.#received.shift();
  }

  /** Waits until the client sends the expected frame. */
  async expectCommand(expected: string): Promise<void> {
    const frame = object(expected);
    const name = this.#nameOf(frame);
    for (;;) {
      const line = await this.next();
      if (line === undefined) throw new Error(`the client closed the connection; the transcript expects ${name ?? expected}`);
      const sent = object(line);
      if (this.#nameOf(sent) === name) {
        if (frame?.["id"] !== undefined) this.#ids.set(JSON.stringify(frame["id"]), { id: sent?.["id"], command: name });
        else if (name !== undefined) this.#anonymous.push({ command: name, id: sent?.["id"] });
        return;
      }
      await this.answerUnrecorded(line, name);
    }
  }

  /** Sends a line of the recorded agent with the client's ids. */
  async sendRecorded(line: string): Promise<void> {
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

  /**
   * Answers a command that the transcript does not have here; the transcript has `expected`
   * instead.
   */
  async answerUnrecorded(line: string, expected?: string): Promise<void> {
    const sent = object(line);
    const name = this.#nameOf(sent);
    if (name === undefined || isAnswer(this.#spec, name)) return;
    const last = this.#last.get(name);
    if (last === undefined) return this.#write(this.#unrecorded(name, sent?.["id"], expected));
    const answer: JsonObject = structuredClone(last);
    const { barrier } = this.#spec.runEnd;
    const { data } = answer;
    if (barrier?.command === name && typeof data === "object" && data !== null && !Array.isArray(data)) {
      // The client sends this query to detect further events. The transcript holds them. They
      // follow this response only if the recorded agent sent them later.
      data[barrier.busy] = false;
    }
    await this.#write(withId(answer, sent?.["id"]));
  }

  /** Returns the failure for a command without a recorded response. */
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
