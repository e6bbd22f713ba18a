/** Writer of a connection. Lines are written completely and in order. */

import { StalledError, UsageError } from "../error.js";
import { stringify } from "../json.js";
import { DEFAULT_QUEUE_BYTES } from "../queue.js";
import type { AnyTypes, Spec } from "../spec.js";
import type { Termination } from "../termination.js";
import { EXIT_WITHIN, within } from "../timer.js";
import type { ConnectionCore } from "./core.js";

/** Time limit of pending writes when the connection closes, in milliseconds. */
const LAST_WRITE = 2000;

export class Writer {
  readonly #connection: ConnectionCore;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #encoder = new TextEncoder();
  #ending: Promise<void> | undefined;
  /** Number of characters that the stream holds but has not written. */
  #unwritten = 0;
  /** Callers that wait until a line is written. */
  readonly #waiting = new Set<(end: Termination) => void>();

  constructor(connection: ConnectionCore, writable: WritableStream<Uint8Array>) {
    this.#connection = connection;
    this.#writer = writable.getWriter();
    this.#writer.closed.catch((error: unknown) => this.#onError(error));
  }

  /**
   * Fails with a {@link StalledError} if too much output is unwritten because the agent does not read its
   * input.
   */
  checkCapacity(command: string): void {
    if (this.#unwritten > (this.#connection.settings.queueBytes ?? DEFAULT_QUEUE_BYTES)) throw new StalledError(command, 0);
  }

  /**
   * Sends a line without a line feed. `onWritten` is called after the line is written, and never if the write
   * fails.
   */
  write(line: string, onWritten?: () => void): void {
    if (this.#ending !== undefined) return;
    this.#connection.tap.frame("sent", line);
    this.#connection.settings.watch?.("sent", line);
    this.#unwritten += line.length;
    this.#writer.write(this.#encoder.encode(`${line}\n`)).then(
      () => {
        this.#unwritten -= line.length;
        onWritten?.();
      },
      (error: unknown) => this.#onError(error),
    );
  }

  /** Writes a line like `write`. Resolves when the line is written, and fails with the termination. */
  writeAndFlush(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      this.write(line, () => {
        this.#waiting.delete(reject);
        resolve();
      });
    });
  }

  /** Stops all writes after the end of the connection. */
  settle(end: Termination): void {
    this.end();
    for (const reject of this.#waiting) reject(end);
    this.#waiting.clear();
  }

  /** Ends the agent's input after the lines sent so far. */
  end(): void {
    this.#ending ??= this.#writer.close().catch(() => undefined);
  }

  /** Ends the input like `end`, and waits until everything is written, with a time limit. */
  async finish(): Promise<void> {
    this.end();
    if (this.#ending === undefined || (await within(LAST_WRITE, this.#ending))) return;
    // The promise is ignored: a stream whose peer does not read may never settle it.
    this.#writer.abort().catch(() => undefined);
  }

  #onError(cause: unknown): void {
    this.#ending ??= Promise.resolve();
    if (this.#connection.ended !== undefined) return;
    // The end of the peer is also visible at its output, usually with a better reason.
    setTimeout(() => {
      // After a known exit, the reader settles the connection when it has read the rest.
      if (!this.#connection.hasExited) this.#connection.settle("io", { cause });
    }, EXIT_WITHIN);
  }
}

/** Returns the line of a command. Fails with a {@link UsageError} if its parameters cannot be written. */
export function commandLine(spec: Spec<AnyTypes>, command: string, id: string | number, params: object): string {
  const frame =
    spec.framing === "json-rpc"
      ? { jsonrpc: "2.0", id, method: command, params }
      : { id, type: command, ...params };
  try {
    return stringify(frame);
  } catch (cause) {
    throw new UsageError(`cannot write \`${command}\``, { cause });
  }
}
