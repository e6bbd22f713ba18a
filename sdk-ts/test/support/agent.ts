import { Framer } from "../../src/framing.js";
import type { JsonObject } from "../../src/generated/types.js";
import { memoryPair } from "../../src/testing/pair.js";
import type { Transport } from "../../src/transport.js";

/** Time limit of every wait in these tests, in milliseconds: long enough for any busy machine. */
export const PATIENCE = 60_000;

/** An agent in memory that sends the frames of the test. */
export class FakeAgent {
  /** Transport for the client. */
  readonly transport: Transport;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #framer = new Framer();
  readonly #received: string[] = [];

  constructor(buffer?: number) {
    const [ours, theirs] = memoryPair(buffer);
    this.transport = ours;
    this.#reader = theirs.readable.getReader();
    this.#writer = theirs.writable.getWriter();
    this.#writer.closed.catch(() => undefined);
  }

  /** Returns the client's next line. */
  async line(): Promise<string> {
    const sink = {
      line: (text: string): void => void this.#received.push(text),
      error: (error: Error): void => {
        throw error;
      },
    };
    while (this.#received.length === 0) {
      const { done, value } = await this.#reader.read();
      if (done) throw new Error("the client closed its end");
      this.#framer.push(value, sink);
    }
    return this.#received.shift() as string;
  }

  /** Returns the client's next frame. */
  async receive(): Promise<JsonObject> {
    return JSON.parse(await this.line()) as JsonObject;
  }

  /** Returns the client's next frame, which must be that command. */
  async expect(command: string): Promise<JsonObject> {
    const frame = await this.receive();
    if ((frame["type"] ?? frame["method"]) !== command) throw new Error(`not ${command}: ${JSON.stringify(frame)}`);
    return frame;
  }

  async send(...frames: (object | string)[]): Promise<void> {
    for (const frame of frames) await this.sendBytes(`${typeof frame === "string" ? frame : JSON.stringify(frame)}\n`);
  }

  sendBytes(text: string | Uint8Array): Promise<void> {
    return this.#writer.write(typeof text === "string" ? new TextEncoder().encode(text) : text);
  }

  /** Answers a command of a flat dialect. */
  async answer(command: JsonObject, data?: unknown): Promise<void> {
    await this.send({ id: command["id"], type: "response", command: command["type"], success: true, data });
  }

  async reject(command: JsonObject, error: string): Promise<void> {
    await this.send({ id: command["id"], type: "response", command: command["type"], success: false, error });
  }

  /** Accepts the client's next prompt, and returns it. */
  async accept(): Promise<JsonObject> {
    const prompt = await this.expect("prompt");
    await this.answer(prompt);
    return prompt;
  }

  /** Plays a run with one text, and answers the query of the state after it. */
  async run(text: string): Promise<void> {
    await this.send({ type: "agent_start" }, { type: "turn_start" }, update(text), { type: "agent_end", messages: [] });
    await this.answer(await this.expect("get_state"), { isStreaming: false });
  }

  end(): Promise<void> {
    return this.#writer.close();
  }
}

export function update(delta: string): JsonObject {
  return {
    type: "message_update",
    assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta },
    message: { role: "assistant", content: [{ type: "text", text: delta }] },
  };
}

/** Returns the value of a promise. Fails if the promise does not settle in time. */
export async function soon<V>(promise: Promise<V>, milliseconds = PATIENCE): Promise<V> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came within ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the error of a promise, which must fail. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await soon(promise);
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}

/** Waits until all pending promises and callbacks have run; timers do not count. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}
