/// <reference lib="esnext.disposable" preserve="true" />

/** Base of all clients: calls, runs, events and the termination. */

import { Connection } from "./connection/connection.js";
import type { Settings } from "./connection/core.js";
import { read } from "./connection/reader.js";
import type { RunSlot } from "./connection/runs.js";
import { type NotInRevisionError, type StalledError, UsageError } from "./error.js";
import type { JsonValue } from "./generated/types.js";
import { namesOf, revisionOf } from "./revision_detector.js";
import { Events, type Run, type RunParts } from "./run.js";
import { type AnyTypes, type DataOf, type ParamsOf, type Spec, row } from "./spec.js";
import type { Overflow } from "./queue.js";
import type { Meter, RunLimits } from "./run_limits.js";
import type { Tap } from "./tap.js";
import type { Termination } from "./termination.js";
import type { Transport } from "./transport.js";
import type { Validator } from "./validation.js";

/** Options of one call. */
export interface CallOptions {
  /** Time limit of the call in milliseconds, in place of the command's own limit; 0 is no limit. */
  readonly timeout?: number | undefined;
  /**
   * Cancels the wait: the call fails with the signal's reason. The agent continues, and a late response is
   * dropped.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a call that starts a run. */
export interface RunOptions extends CallOptions {
  /**
   * If `true`, `signal` also stops the agent: the client sends an abort command. The run then fails with the
   * signal's reason, as soon as the agent has ended the run or the abort has failed.
   */
  readonly abortRun?: boolean | undefined;
  /** Limits that end the run, as `new RunLimits({ maxTurns: 5 })`: see {@link RunLimits}. */
  readonly limits?: RunLimits | undefined;
}

/** Options of a client. */
export interface ClientOptions<T extends AnyTypes> extends Omit<Settings, "watch"> {
  /**
   * Revision of the dialect that the agent speaks, as in `pi@0.55`, `0.55` or `latest`. By default, the
   * client detects the revision from the agent's frames.
   */
  readonly revision?: string | undefined;
  /**
   * Handlers of the agent's questions. A question without a handler is dismissed, with a diagnostic for the
   * tap.
   */
  readonly dialogs?: T["handlers"] | undefined;
  /**
   * Time limit of every call in milliseconds, in place of the command's own limit; 0 is no limit. It also
   * applies to commands without a limit (`prompt`, `bash`, `compact`). The run of a prompt continues after
   * the response, without a limit.
   */
  readonly timeout?: number | undefined;
  /** Observer of every frame, with keys redacted, and of a diagnostic for each irregularity. */
  readonly tap?: Tap | undefined;
  /** Overflow policy for a subscriber that does not read; `block` by default. */
  readonly overflow?: Overflow | undefined;
  /**
   * Limit of a queue of events in characters; 64 Mi by default. The same limit applies to unwritten output:
   * if it is exceeded because the agent does not read its input, calls fail with a {@link StalledError} at
   * once.
   */
  readonly queueBytes?: number | undefined;
  /** Limit of a line in bytes; 64 MiB by default. A longer line is skipped, with a diagnostic for the tap. */
  readonly maxLine?: number | undefined;
  /**
   * Validator of received frames against the declaration: `validate` of `agentese/check`. By default, frames
   * are not validated.
   */
  readonly validate?: Validator | undefined;
}

/** Closes the connection of a garbage-collected client. */
const dropped = new FinalizationRegistry<Connection>((connection) => void connection.close());

/** Client of an agent. Each dialect has a subclass with a method for every command. */
export abstract class RpcClient<T extends AnyTypes> implements AsyncDisposable {
  /** Tables of the dialect. */
  readonly spec: Spec<T>;
  readonly #connection: Connection;
  #sharedEvents: Events<T> | undefined;

  constructor(spec: Spec<T>, transport: Transport, options: ClientOptions<T> = {}) {
    const { revision: requested } = options;
    const revision = requested === undefined ? undefined : revisionOf(spec, requested);
    if (requested !== undefined && revision === undefined) {
      throw new UsageError(`unknown revision ${requested} of ${spec.name}; known: ${namesOf(spec).join(", ")}`);
    }
    this.spec = spec;
    this.#connection = new Connection(spec, { ...options, revision }, transport);
    void read(this.#connection, transport);
    dropped.register(this, this.#connection);
  }

  /**
   * Revision that the agent speaks, as in `pi@1.5`: the one in the options, or the one that the agent's
   * frames show. It is `undefined` before the detection, and if the dialect has a single revision. A call of
   * a command that this revision lacks fails at once with a {@link NotInRevisionError}.
   */
  get revision(): string | undefined {
    const { agentRevision } = this.#connection;
    return agentRevision.revision && agentRevision.id(agentRevision.revision);
  }

  /** Id of the agent's process, if `spawn` started it. */
  get processId(): number | undefined {
    return this.#connection.transport.child?.id;
  }

  /** Resolves with the termination when the connection has ended. Never rejects. */
  get terminated(): Promise<Termination> {
    return this.#connection.terminated;
  }

  /** Number of events without a reader. */
  get droppedEvents(): number {
    return this.#connection.droppedEvents;
  }

  /**
   * Subscribes to all events of the connection from now on, including those of runs.
   *
   * @throws Termination The connection has ended.
   */
  events(): Events<T> {
    return new Events(this, this.#connection);
  }

  /**
   * Calls the listener with every event of that type from now on. Returns a function that removes the
   * listener. If a listener throws, the exception is an unhandled rejection, and that listener receives no
   * further events.
   *
   * ```ts
   * client.on("tool_execution_start", (event) => console.log(event.toolName));
   * ```
   *
   * @throws Termination The connection has ended.
   */
  on<K extends keyof T["events"] & string>(type: K, listener: (event: T["events"][K]) => void): () => void {
    return (this.#sharedEvents ??= this.events()).on(type, listener);
  }

  /**
   * Sends a line unchanged and without validation. Resolves when the line is written, without waiting for a
   * response.
   *
   * @throws Termination The connection has ended.
   * @throws StalledError The agent does not read its input.
   * @throws UsageError The text contains a line feed.
   */
  async sendRaw(line: string): Promise<void> {
    const { ended, writer } = this.#connection;
    if (line.includes("\n")) throw new UsageError("a raw line must not contain a line feed");
    if (ended !== undefined) throw ended;
    writer.checkCapacity("a raw line");
    await writer.writeAndFlush(line);
  }

  /**
   * Sends a command by its wire name, declared or not, and returns the data of its response.
   *
   * @throws AgentError The call failed.
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
   * Shuts the agent down and waits for its termination. The client closes the agent's input, then sends
   * SIGTERM and finally SIGKILL to its process group. Open calls fail with the returned termination.
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
      this.#abortRun(session).catch(() => connection.runs.end(limited, "stopped"));
    });
    const member = this.spec.session;
    const named = member === undefined ? undefined : (params as Record<string, unknown>)[member];
    const session = typeof named === "string" ? named : undefined;
    // If the response ends the run, the command has no separate acceptance.
    let isAccepted = row(this.spec.commands, command)?.answer === undefined;
    let slot: RunSlot | undefined;
    const end = new AbortController();
    const cancel = (): void => {
      end.abort(signal?.reason);
      if (slot !== undefined) connection.runs.fail(slot, signal?.reason);
    };
    const response = connection.call(command, params, { timeout: options.timeout, signal: end.signal }, this, (waiter) => {
      const started = connection.runs.start(command, params, session, waiter);
      slot = started.slot;
      return started.id;
    });
    const followed = slot as RunSlot | undefined;
    // The handle that reads the events is created from the response. Events of the run may precede it.
    if (followed !== undefined) {
      followed.events.isReachable = isAccepted;
      followed.meter = meter;
    }
    const abort = (): void => {
      if (!options.abortRun || followed === undefined) return cancel();
      followed.failure = { error: signal?.reason };
      this.#abortRun(session).then(() => isAccepted || cancel(), cancel);
    };
    signal?.addEventListener("abort", abort);
    const cleanUp = (): void => {
      meter?.end();
      signal?.removeEventListener("abort", abort);
    };
    followed?.ended.then(cleanUp, cleanUp);
    let answer: JsonValue | undefined;
    try {
      if (isAccepted && followed !== undefined) response.catch((error: unknown) => connection.runs.fail(followed, error));
      else answer = await response;
      if (followed !== undefined) followed.events.isReachable = true;
    } catch (error) {
      cleanUp();
      if (followed !== undefined) connection.runs.forget(followed);
      throw error;
    }
    isAccepted = true;
    return new make({ client: this, slot: followed as RunSlot, command, answer });
  }

  /** Sends the command that aborts the work in the given session. */
  async #abortRun(session: string | undefined): Promise<void> {
    const { commands, session: member } = this.spec;
    const command = Object.keys(commands).find((name) => commands[name]?.run === "stops") ?? "";
    await this.#connection.call(command, member === undefined ? {} : { [member]: session }, {}, this);
  }
}
