/** Runs: the work that a prompt starts. And the events of a connection. */

import type { Broadcast } from "./broadcast.js";
import type { RpcClient } from "./client.js";
import type { Connection } from "./connection/connection.js";
import type { RunSlot } from "./connection/runs.js";
import { RunFailedError } from "./error.js";
import { type EventFrame, type RawEvent, type UnknownEvent, eventOf } from "./event.js";
import type { JsonValue } from "./generated/types.js";
import type { EndedBy } from "./run_tracker.js";
import type { AnyTypes, EventOf } from "./spec.js";

/** How a run ended. */
export interface RunResult<T extends AnyTypes> {
  /**
   * What ended it: its last event, the answer to its command, the agent took the prompt and started no run, or it
   * acknowledged an abort and nothing ended the run after that.
   */
  readonly endedBy: EndedBy;
  /** The last event that could be the end, as `agent_end` in the pi family. */
  readonly last: EventOf<T> | UnknownEvent | undefined;
  /**
   * Whether it is certain that nothing follows. False where the agent was asked for its state, to be sure, and gave
   * none within the declared limit (5 seconds).
   */
  readonly confirmed: boolean;
  /** Whether somebody stopped the run, whoever it was. That is no failure. */
  readonly aborted: boolean;
  /** Why the run failed, where it did; only `wait` gives a result with a failure. */
  readonly failure: RunFailedError | undefined;
}

/** Unsubscribes streams that were garbage-collected, so that the reader does not wait for room in their queues. */
const dropped = new FinalizationRegistry<Broadcast>((source) => source.unsubscribe());

/**
 * Events one after another.
 *
 * Every loop over a stream, `withRaw`, `forEach` and the listeners of `on` are readers, and each reader is given all
 * events from the beginning of the stream. Further readers begin before the first `await` after the first one began;
 * a later one is refused with a {@link UsageError}, because what was read is not kept. Leaving a loop early
 * ends that reader and nothing else.
 */
export abstract class EventStream<T extends AnyTypes> implements AsyncIterable<EventOf<T> | UnknownEvent> {
  /** The client. It is not garbage-collected while the stream is used. */
  readonly client: RpcClient<T>;
  protected readonly source: Broadcast;
  #listeners: Map<string, Set<Listener>> | undefined;

  protected constructor(client: RpcClient<T>, source: Broadcast) {
    this.client = client;
    this.source = source;
    dropped.register(this, source);
  }

  /** How many events were dropped, summed over the readers of this stream. */
  get dropped(): number {
    return this.source.dropped;
  }

  /**
   * Gives the events.
   *
   * @throws UsageError The events of this stream were read before.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<EventOf<T> | UnknownEvent> {
    return this.#iterate((event) => event);
  }

  /**
   * Gives the events with the line that each came in.
   *
   * @throws UsageError The events of this stream were read before.
   */
  withRaw(): AsyncIterableIterator<RawEvent<T>> {
    return this.#iterate((event, raw) => ({ event, raw }));
  }

  /**
   * Calls the listener with every event as it comes, without a turn of the event loop in between.
   * Resolves at the end of the stream and fails as a loop would throw. A listener that throws gets
   * nothing more, and the promise fails with what it threw.
   */
  async forEach(listener: (event: EventOf<T> | UnknownEvent, raw: string) => void): Promise<void> {
    await this.source.reader().forEach((frame) => listener(eventOf<T>(frame), frame.raw));
  }

  /**
   * Calls the listener with every event of that type as it comes. Gives a function that ends this. What a listener
   * throws is an unhandled rejection, and that listener gets nothing more. The end of the stream is not told: use
   * `result()` of a run, or `terminated` of the client.
   *
   * @throws UsageError The events of this stream were read before.
   */
  on<K extends keyof T["events"] & string>(type: K, listener: (event: T["events"][K]) => void): () => void {
    const listeners = (this.#listeners ??= this.#dispatch());
    const own: Listener = { call: listener as (event: never) => void };
    const others = listeners.get(type);
    if (others === undefined) listeners.set(type, new Set([own]));
    else others.add(own);
    return () => void listeners.get(type)?.delete(own);
  }

  /** Stops all readers, and nothing else: the agent goes on. */
  stop(): void {
    this.source.unsubscribe();
  }

  /** Begins to call the listeners of `on`, once all that are added in this turn are there. */
  #dispatch(): Map<string, Set<Listener>> {
    const listeners = new Map<string, Set<Listener>>();
    const reader = this.source.reader();
    const tell = ({ type, body, spec }: EventFrame): void => {
      if (spec === undefined) return;
      for (const listener of listeners.get(type) ?? []) {
        try {
          listener.call(body as never);
        } catch (error) {
          listeners.get(type)?.delete(listener);
          void Promise.reject(error);
        }
      }
    };
    queueMicrotask(() => void reader.forEach(tell).catch(() => undefined));
    return listeners;
  }

  #iterate<V>(show: (event: EventOf<T> | UnknownEvent, raw: string) => V): AsyncIterableIterator<V> {
    const reader = this.source.reader();
    // The iterator keeps the stream alive.
    let stream: this | undefined = this;
    const view = (frame: EventFrame): V => show(eventOf<T>(frame), frame.raw);
    return {
      next: () => reader.next(view),
      return: () => {
        stream = void stream;
        reader.unsubscribe();
        return Promise.resolve({ done: true, value: undefined });
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
}

interface Listener {
  readonly call: (event: never) => void;
}

/**
 * All events of a connection from the moment it was asked for, those of runs among them.
 *
 * Throws the {@link Termination} when the connection ends, except where this side closed it.
 */
export class Events<T extends AnyTypes> extends EventStream<T> {
  constructor(client: RpcClient<T>, connection: Connection) {
    super(client, connection.subscribe());
  }
}

/** What a run is made of. */
export interface RunParts<T extends AnyTypes> {
  readonly client: RpcClient<T>;
  readonly slot: RunSlot;
  readonly command: string;
  readonly answer: JsonValue | undefined;
}

/**
 * The work that a prompt started.
 *
 * A run has all events from the prompt until the agent is done, automatic retries, compactions and reminders
 * included. Where the run failed, a loop throws after the last event. Leaving a loop early ends that reader only: the
 * agent goes on (`abort` stops it).
 */
export class Run<T extends AnyTypes> extends EventStream<T> {
  /** The wire name of the command that started the run. */
  readonly command: string;
  /** The session that the run belongs to; empty in dialects that have one session at a time. */
  readonly session: string;
  /** The data of the answer that accepted the run, where there is any. */
  readonly answer: JsonValue | undefined;
  readonly #slot: RunSlot;

  constructor({ client, slot, command, answer }: RunParts<T>) {
    super(client, slot.events);
    this.command = command;
    this.answer = answer;
    this.session = slot.session ?? "";
    this.#slot = slot;
  }

  /**
   * Waits for the end of the run, whether or not its events are read.
   *
   * Resolves when every reader has received the last event, or has taken no event for a second. Without a reader, the
   * events stay in the queue for a loop that begins later. From now on, a full queue without a reader, or whose reader takes
   * nothing for a second, drops events; a reader of that queue fails with a {@link DetachedError}.
   *
   * @throws RunFailedError The request to the model failed, after the retries that the agent makes.
   * @throws RefusedError The agent refused the prompt after all.
   * @throws Termination The connection ended first.
   */
  async result(): Promise<RunResult<T>> {
    const result = await this.wait();
    if (result.failure !== undefined) throw result.failure;
    return result;
  }

  /**
   * Waits for the end of the run as `result` does, and gives a run that failed as a result.
   *
   * After the agent has acknowledged an abort, and tells of no new work, the run ends within ten seconds and the time that
   * the agent takes to tell its state.
   *
   * @throws RefusedError The agent refused the prompt after all.
   * @throws Termination The connection ended first.
   */
  async wait(): Promise<RunResult<T>> {
    this.source.awaitEnd();
    const { by, last, confirmed, verdict } = await this.#slot.ended;
    await this.source.drained();
    const failure = verdict instanceof RunFailedError ? verdict : undefined;
    return { endedBy: by, last: last && eventOf<T>(last), confirmed, aborted: verdict === "aborted", failure };
  }
}
