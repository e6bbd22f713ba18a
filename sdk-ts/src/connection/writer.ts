/** The writer: lines go out whole and in order. */

import { StalledError, UsageError } from "../error.js";
import { stringify } from "../json.js";
import { DEFAULT_QUEUE_BYTES } from "../queue.js";
import type { AnyTypes, Spec } from "../spec.js";
import type { Termination } from "../termination.js";
import { EXIT_WITHIN, within } from "../timer.js";
import type { Connection } from "./connection.js";

/** How long what is written may take when the connection is closed, in milliseconds. */
const LAST_WRITE = 2000;

export class Writer {
  readonly #connection: Connection;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #encoder = new TextEncoder();
  #ending: Promise<void> | undefined;
  /** How much was given to the stream and is not written, in characters. */
  #unwritten = 0;
  /** Who waits until a line is written. */
  readonly #waiting = new Set<(end: Termination) => void>();

  constructor(connection: Connection, writable: WritableStream<Uint8Array>) {
    this.#connection = connection;
    this.#writer = writable.getWriter();
    this.#writer.closed.catch((error: unknown) => this.#broken(error));
  }

  /** Fails with a {@link StalledError} where too much waits already: the agent does not read its input. */
  admit(command: string): void {
    if (this.#unwritten > (this.#connection.settings.queueBytes ?? DEFAULT_QUEUE_BYTES)) throw new StalledError(command, 0);
  }

  /** Sends a line, which has no line feed in it. `written` is called when it is written, and not where it never is. */
  write(line: string, written?: () => void): void {
    if (this.#ending !== undefined) return;
    this.#connection.tap.frame("sent", line);
    this.#connection.settings.watch?.("sent", line);
    this.#unwritten += line.length;
    this.#writer.write(this.#encoder.encode(`${line}\n`)).then(
      () => {
        this.#unwritten -= line.length;
        written?.();
      },
      (error: unknown) => this.#broken(error),
    );
  }

  /** As `write`. Resolves when the line is written, and fails with the end of the connection. */
  written(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      this.write(line, () => {
        this.#waiting.delete(reject);
        resolve();
      });
    });
  }

  /** The connection is over: nothing more is sent. */
  settle(end: Termination): void {
    this.end();
    for (const reject of this.#waiting) reject(end);
    this.#waiting.clear();
  }

  /** Nothing more is sent: the agent's input ends after what was sent. */
  end(): void {
    this.#ending ??= this.#writer.close().catch(() => undefined);
  }

  /** As `end`, and waits (not for ever) until everything is written. */
  async finish(): Promise<void> {
    this.end();
    if (this.#ending === undefined || (await within(LAST_WRITE, this.#ending))) return;
    // Nobody waits for this: a stream whose peer does not read may never settle it.
    this.#writer.abort().catch(() => undefined);
  }

  #broken(cause: unknown): void {
    this.#ending ??= Promise.resolve();
    if (this.#connection.ended !== undefined) return;
    // A peer that is gone says so at its other end too, and better.
    setTimeout(() => {
      // Where the exit is known, the reader tells it when the rest has been read.
      if (!this.#connection.hasExited) this.#connection.settle("io", { cause });
    }, EXIT_WITHIN);
  }
}

/** The line of a command. Fails with a {@link UsageError} where its parameters cannot be written. */
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
