/// <reference lib="esnext.disposable" preserve="true" />

/** The base of all clients: calls, runs, events and the end. */

import { Connection, type Settings } from "./connection/connection.js";
import type { RunSlot } from "./connection/runs.js";
import { type NotInRevisionError, type StalledError, UsageError } from "./error.js";
import type { JsonValue } from "./generated/types.js";
import { namesOf, revisionOf } from "./revision.js";
import { Events, type Run, type RunParts } from "./run.js";
import { type AnyTypes, type DataOf, type ParamsOf, type Spec, row } from "./spec.js";
import type { Overflow } from "./queue.js";
import type { Meter, RunLimits } from "./run_limits.js";
import type { Tap } from "./tap.js";
import type { Termination } from "./termination.js";
import type { Transport } from "./transport.js";
import type { Validate } from "./validation.js";

/** How one call behaves. */
export interface CallOptions {
  /** How long the call waits for its answer, in milliseconds, in place of the command's own limit; 0 is no limit. */
  readonly timeout?: number | undefined;
  /** Gives up waiting: the call fails with the signal's reason, the agent goes on, a late answer is dropped. */
  readonly signal?: AbortSignal | undefined;
}

/** How a call behaves that starts a run. */
export interface RunOptions extends CallOptions {
  /**
   * Whether `signal` stops the agent as well. The agent is told to abort; the run goes on until the agent has ended
   * it, and fails with the signal's reason then, or at once where the agent does not obey.
   */
  readonly abortRun?: boolean | undefined;
  /** What ends the run, as `new RunLimits({ maxTurns: 5 })`: see {@link RunLimits}. */
  readonly limits?: RunLimits | undefined;
}

/** How a client behaves. */
export interface ClientOptions<T extends AnyTypes> extends Omit<Settings, "watch"> {
  /**
   * The revision of the dialect that the agent speaks, as in `pi@0.55`, `0.55` or `latest`. Without it the client finds
   * that out from what the agent sends.
   */
  readonly revision?: string | undefined;
  /** Handlers of the agent's questions. A question without a handler is dismissed, and the tap is told. */
  readonly dialogs?: T["handlers"] | undefined;
  /**
   * How long every call waits for its answer, in milliseconds, in place of the command's own limit; 0 is no limit. It holds
   * for commands without a limit of their own, too (`prompt`, `bash`, `compact`). The run that a prompt starts goes on
   * after the answer, without a limit.
   */
  readonly timeout?: number | undefined;
  /** Receives every frame, with keys redacted, and a diagnostic for each irregularity. */
  readonly tap?: Tap | undefined;
  /** What happens to events when a subscriber does not read; `block` by default. */
  readonly overflow?: Overflow | undefined;
  /**
   * How many characters of events one queue holds; 64 Mi by default. When more than that waits to be written to an
   * agent that does not read its input, calls fail with a {@link StalledError} at once.
   */
  readonly queueBytes?: number | undefined;
  /** The longest line that is read, in bytes; 64 MiB by default. A longer line is skipped, with a diagnostic for the tap. */
  readonly maxLine?: number | undefined;
  /** Checks what the agent sends against the declaration: `validate` of `agentese/check`. Nothing is checked by default. */
  readonly validate?: Validate | undefined;
}

/** Closes the connection of a client that was garbage-collected. */
const dropped = new FinalizationRegistry<Connection>((connection) => void connection.close());

/** A client of an agent. Each dialect has its own, with a method for every command. */
export abstract class RpcClient<T extends AnyTypes> implements AsyncDisposable {
  /** The dialect's tables. */
  readonly spec: Spec<T>;
  readonly #connection: Connection;
  #listened: Events<T> | undefined;

  constructor(spec: Spec<T>, transport: Transport, options: ClientOptions<T> = {}) {
    const { revision: asked } = options;
    const revision = asked === undefined ? undefined : revisionOf(spec, asked);
    if (asked !== undefined && revision === undefined) {
      throw new UsageError(`unknown revision ${asked} of ${spec.name}; known: ${namesOf(spec).join(", ")}`);
    }
    this.spec = spec;
    this.#connection = new Connection(spec, { ...options, revision }, transport);
    dropped.register(this, this.#connection);
  }

  /**
   * The revision that the agent speaks, as in `pi@1.5`: the one that was named, or the one that the agent's frames show;
   * `undefined` until they show it, and where the dialect has one revision. A call of a command that this revision does
   * not have fails at once with a {@link NotInRevisionError}.
   */
  get revision(): string | undefined {
    const { known } = this.#connection;
    return known.revision && known.id(known.revision);
  }

  /** The id of the agent's process, where `spawn` started it. */
  get processId(): number | undefined {
    return this.#connection.transport.child?.id;
  }

  /** Resolves when the connection has ended, with the value that settled everything. Never rejects. */
  get terminated(): Promise<Termination> {
    return this.#connection.terminated;
  }

  /** How many events had no reader. */
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
   * Calls the listener with every event of that type from now on. Gives a function that ends this. What a listener
   * throws is an unhandled rejection, and that listener gets nothing more.
   *
   * ```ts
   * client.on("tool_execution_start", (event) => console.log(event.toolName));
   * ```
   *
   * @throws Termination The connection is over.
   */
  on<K extends keyof T["events"] & string>(type: K, listener: (event: T["events"][K]) => void): () => void {
    return (this.#listened ??= this.events()).on(type, listener);
  }

  /**
   * Sends a line unchanged and unchecked. Resolves when it is written; does not wait for an answer.
   *
   * @throws Termination The connection is over, or ended first.
   * @throws StalledError The agent does not read its input.
   * @throws UsageError The text is more than one line.
   */
  async sendRaw(line: string): Promise<void> {
    const { ended, writer } = this.#connection;
    if (line.includes("\n")) throw new UsageError("a raw line cannot hold a line feed");
    if (ended !== undefined) throw ended;
    writer.admit("a raw line");
    await writer.written(line);
  }

  /**
   * Sends a command by its wire name, declared or not, and gives the data of its answer.
   *
   * @throws AgentError As every call.
   */
  request<K extends keyof T["commands"] & string>(
    command: K,
    ...given: {} extends ParamsOf<T, K>
      ? [params?: ParamsOf<T, K>, options?: CallOptions]
      : [params: ParamsOf<T, K>, options?: CallOptions]
  ): Promise<DataOf<T, K>>;
  request<K extends string>(
    command: K extends keyof T["commands"] ? never : K,
    params?: object,
    options?: CallOptions,
  ): Promise<JsonValue | undefined>;
  request(command: string, params: object = {}, options?: CallOptions): Promise<JsonValue | undefined> {
    return this.#connection.call(command, params, options, this);
  }

  /**
   * Shuts the agent down and waits for its end: its input is closed, then its process group is sent
   * SIGTERM and at last SIGKILL. Open calls fail with the termination that this resolves with.
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
    options: RunOptions = {},
  ): Promise<R> {
    const connection = this.#connection;
    const { signal, limits } = options;
    signal?.throwIfAborted();
    const meter: Meter | undefined = limits?.meter(this.spec.name, (failure) => {
      if (slot === undefined) return;
      const limited = slot;
      limited.limit = failure;
      this.#stop(session).catch(() => connection.runs.end(limited, "stopped"));
    });
    const member = this.spec.session;
    const named = member === undefined ? undefined : (params as Record<string, unknown>)[member];
    const session = typeof named === "string" ? named : undefined;
    // Where the answer is the end of the run, there is nothing to accept.
    let isAccepted = row(this.spec.commands, command)?.answer === undefined;
    let slot: RunSlot | undefined;
    const end = new AbortController();
    const giveUp = (): void => {
      end.abort(signal?.reason);
      if (slot !== undefined) connection.runs.fail(slot, signal?.reason);
    };
    const answered = connection.call(command, params, { timeout: options.timeout, signal: end.signal }, this, (waiter) => {
      const started = connection.runs.start(command, params, session, waiter);
      slot = started.slot;
      return started.id;
    });
    const followed = slot as RunSlot | undefined;
    // The handle that reads the events comes with the answer, which may stand behind them.
    if (followed !== undefined) {
      followed.events.isReachable = isAccepted;
      followed.meter = meter;
    }
    const abort = (): void => {
      if (!options.abortRun || followed === undefined) return giveUp();
      followed.failure = { error: signal?.reason };
      this.#stop(session).then(() => isAccepted || giveUp(), giveUp);
    };
    signal?.addEventListener("abort", abort);
    const over = (): void => {
      meter?.end();
      signal?.removeEventListener("abort", abort);
    };
    followed?.ended.then(over, over);
    let answer: JsonValue | undefined;
    try {
      if (isAccepted && followed !== undefined) answered.catch((error: unknown) => connection.runs.fail(followed, error));
      else answer = await answered;
      if (followed !== undefined) followed.events.isReachable = true;
    } catch (error) {
      over();
      if (followed !== undefined) connection.runs.forget(followed);
      throw error;
    }
    isAccepted = true;
    return new make({ client: this, slot: followed as RunSlot, command, answer });
  }

  /** Tells the agent to stop what it is doing, in that session. */
  async #stop(session: string | undefined): Promise<void> {
    const { commands, session: member } = this.spec;
    const command = Object.keys(commands).find((name) => commands[name]?.run === "stops") ?? "";
    await this.#connection.call(command, member === undefined ? {} : { [member]: session }, {}, this);
  }
}
