/** The connection with the agent: lines in, lines out, and which answer belongs to which question. */

import { Framer } from "../../sdk-ts/src/framing.js";
import { messageOf } from "./text.js";
import type { ExtensionFrame, HostFrame, JsonValue, Question, ResultOf } from "./protocol.js";

/** The longest frame of the agent: a conversation with all of its images. Node has no longer texts than twice that. */
const LONGEST_LINE = 256 * 1024 * 1024;

/** A question that the agent has not answered yet. */
interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** A question with its id, for those who may want to take it back. */
export interface Asked<T> {
  readonly id: string;
  readonly answer: Promise<T>;
}

/** The connection with the agent. */
export class Link {
  readonly #framer = new Framer({ maxLine: LONGEST_LINE });
  readonly #waiting = new Map<string, Waiting>();
  readonly #write: (line: string) => void;
  #nextId = 1;

  constructor(
    /** Writes a line, with its end. */
    write: (line: string) => void,
    /** Takes each frame of the agent that is no answer. */
    private readonly receive: (frame: Exclude<HostFrame, { type: "response" }>) => void,
  ) {
    this.#write = write;
  }

  /** Takes the next bytes from the agent. */
  push(chunk: Uint8Array): void {
    this.#framer.push(chunk, {
      line: (text) => this.#line(text),
      fault: (error) => this.log("error", `a frame was lost: ${error.message}`),
    });
  }

  /** Sends a frame that nobody answers. */
  tell(frame: ExtensionFrame): void {
    this.#write(`${encode(frame)}\n`);
  }

  /** Asks the agent. The answer fails with the agent's words where it refuses. */
  ask<Q extends Question>(question: Q): Asked<ResultOf<Q["type"]>> {
    const id = String(this.#nextId++);
    const answer = new Promise<ResultOf<Q["type"]>>((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (result: unknown) => void, reject });
    });
    this.tell({ ...question, id } as unknown as ExtensionFrame);
    return { id, answer };
  }

  /** Answers a question of the agent. */
  answer(id: string, result?: unknown): void {
    this.tell({ type: "response", id, ...(result === undefined ? {} : { result: result as JsonValue }) });
  }

  /** Answers that it failed. */
  refuse(id: string, error: unknown): void {
    this.tell({ type: "response", id, error: messageOf(error) });
  }

  /** Writes a line into the agent's log. */
  log(level: "debug" | "info" | "warning" | "error", message: string): void {
    this.tell({ type: "log", level, message });
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
    const waiting = this.#waiting.get(frame.id);
    // An answer to a question that was taken back meanwhile.
    if (waiting === undefined) return;
    this.#waiting.delete(frame.id);
    if (frame.error === undefined) waiting.resolve(frame.result);
    else waiting.reject(new Error(frame.error));
  }
}

/** One line. What JSON has no word for (functions, cycles, big integers) is left out or becomes text. */
function encode(frame: ExtensionFrame): string {
  try {
    return JSON.stringify(frame);
  } catch {
    return JSON.stringify(frame, plain());
  }
}

function plain(): (this: unknown, key: string, value: unknown) => unknown {
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
