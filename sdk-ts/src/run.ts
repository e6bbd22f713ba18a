/** Runs of an agent, and the events of a connection. */

import type { Broadcast } from "./broadcast.js";
import type { RpcClient } from "./client.js";
import type { Connection } from "./connection/connection.js";
import type { RunSlot } from "./connection/runs.js";
import { RunFailedError } from "./error.js";
import { type EventFrame, type RawEvent, type UnknownEvent, eventOf } from "./event.js";
import type { JsonValue } from "./generated/types.js";
import type { EndedBy } from "./run_tracker.js";
import type { AnyTypes, EventOf } from "./spec.js";

/** Result of a run. */
export interface RunResult<T extends AnyTypes> {
  /**
   * Cause of the end: the last event, the response to the command, a prompt without a run, or an abort after
   * which no other end arrived.
   */
  readonly endedBy: EndedBy;
  /** Last event that may end the run, for example `agent_end` in the pi family. */
  readonly last: EventOf<T> | UnknownEvent | undefined;
  /**
   * `true` if it is certain that no further event follows. False if the agent did not confirm its state within
   * the declared limit (5 seconds).
   */
  readonly confirmed: boolean;
  /** `true` if the run was aborted, by any client. An abort is not a failure. */
  readonly aborted: boolean;
  /** Reason of a failed run; only results of `wait` can have one. */
  readonly failure: RunFailedError | undefined;
}

/** Unsubscribes garbage-collected streams, so that the reader does not wait for room in their queues. */
const dropped = new FinalizationRegistry<Broadcast>((source) => source.unsubscribe());

/**
 * Stream of events.
 *
 * Every loop over a stream, `withRaw`, `forEach` and the listeners of `on` are readers. Each reader receives
 * all events from the beginning of the stream. Further readers must start before the first `await` after the
 * start of the first one. Consumed events are not stored, so a later reader is rejected with a
 * {@link UsageError}. Leaving a loop early ends that reader only.
 */
export abstract class EventStream<T extends AnyTypes> implements AsyncIterable<EventOf<T> | UnknownEvent> {
  /** Client. The stream keeps it alive. */
  readonly client: RpcClient<T>;
  protected readonly source: Broadcast;
  #listeners: Map<string, Set<Listener>> | undefined;

  protected constructor(client: RpcClient<T>, source: Broadcast) {
    this.client = client;
    this.source = source;
    dropped.register(this, source);
  }

  /** Number of dropped events, summed over the readers of this stream. */
  get dropped(): number {
    return this.source.dropped;
  }

  /**
   * Returns an iterator over the events.
   *
   * @throws UsageError The events of this stream were already read.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<EventOf<T> | UnknownEvent> {
    return this.#iterate((event) => event);
  }

  /**
   * Returns an iterator over the events with their original lines.
   *
   * @throws UsageError The events of this stream were already read.
   */
  withRaw(): AsyncIterableIterator<RawEvent<T>> {
    return this.#iterate((event, raw) => ({ event, raw }));
  }

  /**
   * Calls the listener with every event as it arrives, without a turn of the event loop in between. Resolves
   * at the end of the stream, and fails like a loop. A listener that throws receives no further events, and
   * the promise fails with its exception.
   */
  async forEach(listener: (event: EventOf<T> | UnknownEvent, raw: string) => void): Promise<void> {
    await this.source.reader().forEach((frame) => listener(eventOf<T>(frame), frame.raw));
  }

  /**
   * Calls the listener with every event of that type as it arrives. Returns a function that removes the
   * listener. If a listener throws, the exception is an unhandled rejection, and that listener receives no
   * further events. Listeners are not notified of the end of the stream: use
   * `result()` of a run, or `terminated` of the client.
   *
   * @throws UsageError The events of this stream were already read.
   */
  on<K extends keyof T["events"] & string>(type: K, listener: (event: T["events"][K]) => void): () => void {
    const listeners = (this.#listeners ??= this.#dispatch());
    const own: Listener = { call: listener as (event: never) => void };
    const others = listeners.get(type);
    if (others === undefined) listeners.set(type, new Set([own]));
    else others.add(own);
    return () => void listeners.get(type)?.delete(own);
  }

  /** Stops all readers. The agent continues. */
  stop(): void {
    this.source.unsubscribe();
  }

  /**
   * Starts to call the listeners of `on`, after all listeners of this turn of the event loop are registered.
   */
  #dispatch(): Map<string, Set<Listener>> {
    const listeners = new Map<string, Set<Listener>>();
    const reader = this.source.reader();
    const notify = ({ type, body, spec }: EventFrame): void => {
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
    queueMicrotask(() => void reader.forEach(notify).catch(() => undefined));
    return listeners;
  }

  #iterate<V>(show: (event: EventOf<T> | UnknownEvent, raw: string) => V): AsyncIterableIterator<V> {
    const reader = this.source.reader();
    // The iterator holds a reference, so that the stream is not garbage-collected.
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
 * All events of a connection from the subscription on, including those of runs.
 *
 * Throws the {@link Termination} when the connection ends, unless this side closed it.
 */
export class Events<T extends AnyTypes> extends EventStream<T> {
  constructor(client: RpcClient<T>, connection: Connection) {
    super(client, connection.subscribe());
  }
}

/** Values from which a {@link Run} is created. */
export interface RunParts<T extends AnyTypes> {
  readonly client: RpcClient<T>;
  readonly slot: RunSlot;
  readonly command: string;
  readonly answer: JsonValue | undefined;
}

/**
 * Run of a prompt.
 *
 * A run has all events from the prompt until the agent is done, including automatic retries, compactions and
 * reminders. If the run failed, a loop throws after the last event. Leaving a loop early ends that reader
 * only: the agent continues (`abort` stops it).
 */
export class Run<T extends AnyTypes> extends EventStream<T> {
  /** Wire name of the command that started the run. */
  readonly command: string;
  /** Session of the run; empty in dialects with one session at a time. */
  readonly session: string;
  /** Data of the response that accepted the run, if any. */
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
   * Resolves when every reader has received the last event, or has consumed no event for a second. Without a
   * reader, the events stay in the queue for a later loop. From now on, a full queue drops events if it has
   * no reader, or if its reader consumes no event for a second. The reader of such a queue fails with a
   * {@link DetachedError}.
   *
   * @throws RunFailedError The model request failed after all retries of the agent.
   * @throws RefusedError The agent rejected the prompt after its acceptance.
   * @throws Termination The connection ended first.
   */
  async result(): Promise<RunResult<T>> {
    const result = await this.wait();
    if (result.failure !== undefined) throw result.failure;
    return result;
  }

  /**
   * Waits for the end of the run like `result`, but returns a failed run as a result.
   *
   * If the agent acknowledges an abort and starts no new work, the run ends after ten seconds at most, plus
   * the time of a state query.
   *
   * @throws RefusedError The agent rejected the prompt after its acceptance.
   * @throws Termination The connection ended first.
   */
  async wait(): Promise<RunResult<T>> {
    this.source.awaitEnd();
    const { by, last, confirmed, outcome } = await this.#slot.ended;
    await this.source.drained();
    const failure = outcome instanceof RunFailedError ? outcome : undefined;
    return { endedBy: by, last: last && eventOf<T>(last), confirmed, aborted: outcome === "aborted", failure };
  }
}
