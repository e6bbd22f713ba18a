/** Connection to the agent: incoming and outgoing lines, and the matching of responses with requests. */

import { Framer } from "../../../sdk-ts/src/framing.js";
import { messageOf } from "./text.js";
import type { AgentRequest, ExtensionFrame, HostFrame, JsonValue, ResultOf } from "./protocol.js";

/**
 * Limit of a frame from the agent in bytes, enough for a conversation with all its images. Node supports
 * strings of twice that length.
 */
const LONGEST_LINE = 256 * 1024 * 1024;

/** Request that has no response yet. */
interface Deferred {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Pending request. Its id allows the withdrawal of the request. */
export interface PendingRequest<T> {
  readonly id: string;
  readonly answer: Promise<T>;
}

/** Connection to the agent. */
export class AgentConnection {
  readonly #framer = new Framer({ maxLine: LONGEST_LINE });
  readonly #pending = new Map<string, Deferred>();
  readonly #write: (line: string) => void;
  #nextId = 1;

  constructor(
    /** Writes a line, whose line feed is included. */
    write: (line: string) => void,
    /** Receives each frame of the agent that is not a response. */
    private readonly receive: (frame: Exclude<HostFrame, { type: "response" }>) => void,
  ) {
    this.#write = write;
  }

  /** Consumes the next bytes from the agent. */
  push(chunk: Uint8Array): void {
    this.#framer.push(chunk, {
      line: (text) => this.#line(text),
      error: (error) => this.log("error", `a frame was lost: ${error.message}`),
    });
  }

  /** Sends a frame without a response. */
  send(frame: ExtensionFrame): void {
    this.#write(`${encode(frame)}\n`);
  }

  /** Sends a request. If the agent rejects the request, the answer fails with the agent's message. */
  request<Q extends AgentRequest>(question: Q): PendingRequest<ResultOf<Q["type"]>> {
    const id = String(this.#nextId++);
    const answer = new Promise<ResultOf<Q["type"]>>((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as (result: unknown) => void, reject });
    });
    this.send({ ...question, id } as unknown as ExtensionFrame);
    return { id, answer };
  }

  /** Sends the response to a request of the agent. */
  answer(id: string, result?: unknown): void {
    this.send({ type: "response", id, ...(result === undefined ? {} : { result: result as JsonValue }) });
  }

  /** Sends an error response. */
  answerError(id: string, error: unknown): void {
    this.send({ type: "response", id, error: messageOf(error) });
  }

  /** Writes a line into the agent's log. */
  log(level: "debug" | "info" | "warning" | "error", message: string): void {
    this.send({ type: "log", level, message });
  }

  #line(text: string): void {
    if (text === "") return;
    let frame: HostFrame;
    try {
      frame = JSON.parse(text) as HostFrame;
    } catch (error) {
      this.log("error", `a frame was lost: ${messageOf(error)}`);
      return;
    }
    if (frame.type !== "response") {
      this.receive(frame);
      return;
    }
    const waiting = this.#pending.get(frame.id);
    // The request was withdrawn in the meantime.
    if (waiting === undefined) return;
    this.#pending.delete(frame.id);
    if (frame.error === undefined) waiting.resolve(frame.result);
    else waiting.reject(new Error(frame.error));
  }
}

/**
 * Encodes a frame as one line. Values without a JSON form (functions, cycles, big integers) are omitted or
 * become text.
 */
function encode(frame: ExtensionFrame): string {
  try {
    return JSON.stringify(frame);
  } catch {
    return JSON.stringify(frame, safeReplacer());
  }
}

function safeReplacer(): (this: unknown, key: string, value: unknown) => unknown {
  const above: unknown[] = [];
  return function (this: unknown, _key, value) {
    if (typeof value === "bigint") return value.toString();
    if (typeof value !== "object" || value === null) return value;
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (above.includes(value)) return undefined;
    above.push(value);
    return value;
  };
}
