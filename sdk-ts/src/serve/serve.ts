/** Serving side of an agent: framing, validation, dispatch, responses and events. */

import { Framer, type FramingError } from "../framing.js";
import { type AnyTypes, row } from "../spec.js";
import type { Transport } from "../transport.js";
import { Emitter } from "./call.js";
import { CommandError } from "./command_error.js";
import { type LineAction, errorLine, parseErrorLine, readLine, successLine } from "./lines.js";
import { DEFAULT_OUTBOX_BYTES, Outbox } from "./outbox.js";
import type { Method, Service } from "./service.js";

/**
 * Reason for the end of serving: end of the input with all commands answered, a client that no longer reads,
 * or the signal.
 */
export type ServeEnd = "end_of_input" | "broken_output" | "stopped";

/** Options of a served agent. */
export interface ServeOptions<T extends AnyTypes> {
  /** Limit of a line in bytes; 64 MiB by default. A longer line is answered with a failure and skipped. */
  readonly maxLine?: number | undefined;
  /** Limit of unwritten output in bytes, beyond which events wait and responses do not; 16 MiB by default. */
  readonly outboxBytes?: number | undefined;
  /** Ends serving: running work is stopped, the output is flushed. */
  readonly signal?: AbortSignal | undefined;
  /** Callback with the emitter before the first line is read, for events outside of commands. */
  readonly started?: ((emitter: Emitter<T>) => void) | undefined;
}

/**
 * Serves one client until its input ends. Never rejects: invalid input is answered with a failure, and
 * reading continues.
 *
 * ```ts
 * class Quiet extends pi.Service {
 *   override getLastAssistantText() {
 *     return { text: null };
 *   }
 * }
 * await serve(new Quiet(), stdio());
 * ```
 */
export async function serve<T extends AnyTypes>(
  service: Service<T>,
  transport: Transport,
  options: ServeOptions<T> = {},
): Promise<ServeEnd> {
  const outbox = new Outbox(transport.writable, options.outboxBytes ?? DEFAULT_OUTBOX_BYTES);
  const server = new Server(service, outbox);
  options.started?.(server.emitter);
  const reader = transport.readable.getReader();
  const stopped = new Promise<ServeEnd>((resolve) => {
    const stop = (): void => resolve("stopped");
    if (options.signal?.aborted) stop();
    options.signal?.addEventListener("abort", stop);
  });
  const broken = outbox.broken.then((): ServeEnd => "broken_output");
  const work = server.run(reader, options.maxLine).then((): ServeEnd => "end_of_input");
  const end = await Promise.race([stopped, broken, work]);
  server.emitter.dismissQuestions();
  if (end !== "end_of_input") {
    reader.cancel().catch(() => undefined);
    await ignoreErrors(() => service.shutDown());
  }
  await outbox.close();
  return end;
}

/** Runs a function whose failure cannot be reported to the client. */
async function ignoreErrors(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch {
    // The client has disconnected or is disconnecting.
  }
}

class Server<T extends AnyTypes> {
  readonly emitter: Emitter<T>;
  readonly #service: Service<T>;
  readonly #outbox: Outbox;
  readonly #running = new Set<Promise<void>>();
  /** Work that waits for the session lane; `undefined` while the lane is idle. */
  #sessionQueue: (() => Promise<void>)[] | undefined;

  constructor(service: Service<T>, outbox: Outbox) {
    this.#service = service;
    this.#outbox = outbox;
    this.emitter = new Emitter(service.serving, outbox);
  }

  /**
   * Reads until the end and waits for running work, which finishes or is stopped according to the dialect.
   */
  async run(reader: ReadableStreamDefaultReader<Uint8Array>, maxLine: number | undefined): Promise<void> {
    const { serving } = this.#service;
    const framer = new Framer({ maxLine, keepBom: serving.blankLineIsError });
    const sink = {
      line: (text: string): void => {
        const line = readLine(serving, text);
        if ("isUnreadable" in line) this.emitter.failQuestion(text, false);
        this.#handleLine(line);
      },
      error: (error: FramingError): void => {
        this.emitter.failQuestion(error.head, error.reason === "too_long");
        this.#outbox.push(parseErrorLine(serving, error.message));
      },
    };
    try {
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) framer.push(chunk.value, sink);
    } catch {
      // A broken input has ended.
    }
    framer.finish(sink);
    // Questions can no longer be answered.
    this.emitter.dismissQuestions();
    const last = ignoreErrors(() => (serving.finishes ? this.#service.waitUntilIdle() : this.#service.shutDown()));
    while (this.#running.size > 0) await Promise.all(this.#running);
    await last;
  }

  #handleLine(line: LineAction): void {
    switch (line.kind) {
      case "ignored":
        return;
      case "answer":
        return this.#outbox.push(line.line);
      case "question":
        return this.emitter.settleQuestion(line.id, line.members);
      case "command": {
        const work = (): Promise<void> => this.#execute(line);
        if (line.command.lane === "session") this.#queue(work);
        else this.#track(work());
      }
    }
  }

  #track(work: Promise<void>): void {
    const done = work.finally(() => this.#running.delete(done));
    this.#running.add(done);
  }

  /** Runs work of the session lane one at a time, in order of arrival. */
  #queue(work: () => Promise<void>): void {
    if (this.#sessionQueue !== undefined) {
      this.#sessionQueue.push(work);
      return;
    }
    const waiting: (() => Promise<void>)[] = [];
    this.#sessionQueue = waiting;
    const first = work();
    this.#track(
      (async () => {
        await first;
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
        this.#sessionQueue = undefined;
      })(),
    );
  }

  async #execute({ id, name, command, params }: LineAction & { kind: "command" }): Promise<void> {
    const { serving } = this.#service;
    const acknowledged = row(serving.spec.commands, name)?.answer === "acknowledged";
    const call = this.emitter.forCall(name, id, (data) => this.#outbox.push(successLine(serving, id, name, data)));
    if (acknowledged) call.answer(...([] as never));
    try {
      const methods = this.#service as unknown as Record<string, Method<T>>;
      const method = methods[command.name];
      if (method === undefined) throw CommandError.notAvailable(name);
      const data = await method.call(this.#service, params, call);
      call.answer(...([data] as never));
    } catch (error) {
      const commandError =
        error instanceof CommandError ? error : new CommandError(error instanceof Error ? error.message : String(error));
      // A second response is discarded, unless the command is acknowledged first and may fail later.
      if (!call.isAnswered || acknowledged) this.#outbox.push(errorLine(serving, id, name, commandError));
    }
    call.release();
  }
}
