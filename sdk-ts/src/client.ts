/// <reference lib="esnext.disposable" preserve="true" />

/** What all clients share: calls, runs, events and the end. */

import { Connection, type Settings } from "./connection/connection.js";
import type { RunSlot } from "./connection/runs.js";
import { type StalledError, UsageError } from "./error.js";
import type { JsonValue } from "./generated/types.js";
import { Events, type Run, type RunParts } from "./run.js";
import { type AnyTypes, type Spec, row } from "./spec.js";
import type { Overflow } from "./queue.js";
import type { Tap } from "./tap.js";
import type { Termination } from "./termination.js";
import type { Transport } from "./transport.js";

/** How one call behaves. */
export interface CallOptions {
  /** How long its answer is waited for, in milliseconds, in place of the command's own limit; 0 is without a limit. */
  readonly timeout?: number | undefined;
  /** Gives up waiting: the call fails with the signal's reason, the agent goes on, a late answer is dropped. */
  readonly signal?: AbortSignal | undefined;
}

/** How a client behaves. */
export interface ClientOptions<T extends AnyTypes> extends Settings {
  /** The revision of the dialect, as in `pi@0.55` or `0.55`. */
  readonly revision?: string | undefined;
  /** Answers the agent's questions. Without a handler the declared policy dismisses them, and tells the tap. */
  readonly dialogs?: T["handlers"] | undefined;
  /**
   * How long every call waits for its answer, in milliseconds, in place of its own limit; 0 is without a limit.
   * Commands without a limit of their own (`prompt`, `bash`, `compact`) keep none.
   */
  readonly timeout?: number | undefined;
  /** Sees every frame, keys redacted, and everything odd. */
  readonly tap?: Tap | undefined;
  /** What happens to events when a subscriber does not read; `block` by default. */
  readonly overflow?: Overflow | undefined;
  /**
   * How much of events one queue holds, in characters; 64 Mi by default. When more than that waits for an agent
   * that does not read its input, calls fail with a {@link StalledError} at once.
   */
  readonly queueBytes?: number | undefined;
  /** The longest line that is read, in bytes; 64 MiB by default. A longer one is skipped and told to the tap. */
  readonly maxLine?: number | undefined;
}

/** Connections of clients that nobody holds any more are closed. */
const dropped = new FinalizationRegistry<Connection>((connection) => void connection.close());

/** A client of an agent. Each dialect has its own, with a method for every command. */
export abstract class RpcClient<T extends AnyTypes> implements AsyncDisposable {
  /** The dialect's tables. */
  readonly spec: Spec<T>;
  readonly #connection: Connection;

  constructor(spec: Spec<T>, transport: Transport, options: ClientOptions<T> = {}) {
    const { revision } = options;
    if (revision !== undefined && revision !== spec.revision && revision !== `${spec.name}@${spec.revision}`) {
      throw new UsageError(`no revision ${revision} of ${spec.name}; known: ${spec.revision}`);
    }
    this.spec = spec;
    this.#connection = new Connection(spec, options, transport);
    dropped.register(this, this.#connection);
  }

  /** The id of the agent's process, where this side started it. */
  get processId(): number | undefined {
    return this.#connection.transport.child?.id;
  }

  /** Resolves when the connection is over, with the one value that settled everything. Never fails. */
  get terminated(): Promise<Termination> {
    return this.#connection.terminated;
  }

  /** How many events nobody listened to. */
  get droppedEvents(): number {
    return this.#connection.droppedEvents;
  }

  /**
   * Listens to all events of the connection from now on, those of runs among them.
   *
   * @throws Termination The connection is over.
   */
  events(): Events<T> {
    return new Events(this, this.#connection);
  }

  /**
   * Sends a line as it is. Resolves when it is written; no answer is waited for, and nothing is checked.
   *
   * @throws Termination The connection is over, or ended first.
   * @throws StalledError The agent does not read what waits for it already.
   * @throws UsageError The text is more than one line.
   */
  async sendRaw(line: string): Promise<void> {
    const { ended, writer } = this.#connection;
    if (line.includes("\n")) throw new UsageError("it has a line feed");
    if (ended !== undefined) throw ended;
    writer.admit("a raw line");
    await writer.written(line);
  }

  /**
   * Sends any command, declared or not, and gives the data of its answer.
   *
   * @throws AgentError As every call.
   */
  request(command: string, params: object = {}, options?: CallOptions): Promise<JsonValue | undefined> {
    return this.#connection.call(command, params, options, this);
  }

  /**
   * Shuts the agent down and waits for its end: its input is closed, then its process group gets
   * TERM and at last KILL. Calls that wait fail with the termination that this gives.
   */
  close(): Promise<Termination> {
    return this.#connection.close();
  }

  /** Closes the connection at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Sends a declared command. */
  protected call<R>(command: string, params: object, options?: CallOptions): Promise<R> {
    return this.#connection.call(command, params, options, this) as Promise<R>;
  }

  /** Sends a declared command that starts a run. */
  protected async start<R extends Run<T>>(
    make: new (parts: RunParts<T>) => R,
    command: string,
    params: object,
    options: CallOptions = {},
  ): Promise<R> {
    const connection = this.#connection;
    const { signal } = options;
    const member = this.spec.session;
    const session = member === undefined ? undefined : (params as Record<string, unknown>)[member];
    let slot: RunSlot | undefined;
    const answered = connection.call(command, params, options, this, (waiter) => {
      const started = connection.runs.start(command, params, typeof session === "string" ? session : undefined, waiter);
      slot = started.slot;
      return started.id;
    });
    let answer: JsonValue | undefined;
    try {
      if (row(this.spec.commands, command)?.answer === undefined && slot !== undefined) {
        // The answer is the end of the run: its failure is the run's.
        answered.catch((error: unknown) => slot && connection.runs.fail(slot, error));
      } else {
        answer = await answered;
      }
    } catch (error) {
      if (slot !== undefined) connection.runs.forget(slot);
      throw error;
    }
    const followed = slot as RunSlot;
    if (signal !== undefined) {
      const giveUp = (): void => connection.runs.fail(followed, signal.reason);
      signal.addEventListener("abort", giveUp);
      const over = (): void => signal.removeEventListener("abort", giveUp);
      followed.ended.then(over, over);
    }
    return new make({ client: this, slot: followed, command, answer });
  }
}
