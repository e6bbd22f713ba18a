/** Runs: the work that a prompt starts. And the events of a connection. */

import type { RpcClient } from "./client.js";
import type { Connection } from "./connection/connection.js";
import type { RunSlot } from "./connection/runs.js";
import { type EventFrame, type RawEvent, type UnknownEvent, eventOf } from "./event.js";
import type { JsonValue } from "./generated/types.js";
import type { Queue } from "./queue.js";
import type { EndedBy } from "./run_tracker.js";
import type { AnyTypes, EventOf } from "./spec.js";

/** How a run ended. */
export interface RunResult<T extends AnyTypes> {
  /** What ended it: its last event, the answer to its command, or the agent took the prompt and started no run. */
  readonly endedBy: EndedBy;
  /** The last event that could be the end, as `agent_end` in the pi family. */
  readonly last: EventOf<T> | UnknownEvent | undefined;
}

/** Streams that nobody holds any more stop listening, so that nobody waits for room in their queues. */
const dropped = new FinalizationRegistry<Queue<EventFrame>>((queue) => queue.unsubscribe());

/** Events one after another. Ending the loop early stops listening. */
export abstract class EventStream<T extends AnyTypes> implements AsyncIterable<EventOf<T> | UnknownEvent> {
  /** The client, which is kept alive as long as somebody listens. */
  readonly client: RpcClient<T>;
  protected readonly queue: Queue<EventFrame>;

  protected constructor(client: RpcClient<T>, queue: Queue<EventFrame>) {
    this.client = client;
    this.queue = queue;
    dropped.register(this, queue);
  }

  /** How many events did not reach this stream. */
  get dropped(): number {
    return this.queue.dropped;
  }

  /** Gives the events. There is one sequence: who asks for it twice shares it. */
  [Symbol.asyncIterator](): AsyncIterableIterator<EventOf<T> | UnknownEvent> {
    return this.#iterate((event) => event);
  }

  /** The same sequence with the line that each event came in. */
  withRaw(): AsyncIterableIterator<RawEvent<T>> {
    return this.#iterate((event, raw) => ({ event, raw }));
  }

  /**
   * Calls the listener with every event as it comes, without a turn of the event loop in between.
   * Resolves at the end of the stream and fails as a loop would throw. A listener that throws gets
   * nothing more, and the promise fails with what it threw.
   */
  forEach(listener: (event: EventOf<T> | UnknownEvent, raw: string) => void): Promise<void> {
    this.began();
    return this.queue.forEach((frame) => listener(eventOf<T>(frame), frame.raw));
  }

  /** Stops listening, and nothing else: the agent goes on. */
  stop(): void {
    this.queue.unsubscribe();
  }

  /** A loop over the events has begun. */
  protected began(): void {}

  #iterate<V>(show: (event: EventOf<T> | UnknownEvent, raw: string) => V): AsyncIterableIterator<V> {
    this.began();
    // The iterator keeps the stream alive.
    const stream = this;
    const view = (frame: EventFrame): V => show(eventOf<T>(frame), frame.raw);
    return {
      next: () => stream.queue.next(view),
      return: () => {
        stream.stop();
        return Promise.resolve({ done: true, value: undefined });
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
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

/** How long a result waits for a loop that takes no events, in milliseconds. */
const PATIENCE = 1000;

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
 * Gives the events from the moment the prompt was sent until the run is over: retries, automatic
 * compactions and reminders that start it again are part of it. A failure of the run is thrown
 * after its last event. Leaving the loop early stops listening and nothing else: the agent goes on
 * working (use `abort` to stop it).
 */
export class Run<T extends AnyTypes> extends EventStream<T> {
  /** The wire name of the command that started the run. */
  readonly command: string;
  /** The session that the run belongs to; empty in dialects that have one session at a time. */
  readonly session: string;
  /** The data of the answer that accepted the run, where there is any. */
  readonly answer: JsonValue | undefined;
  readonly #slot: RunSlot;
  #read = false;

  constructor({ client, slot, command, answer }: RunParts<T>) {
    super(client, slot.queue);
    this.command = command;
    this.answer = answer;
    this.session = slot.session ?? "";
    this.#slot = slot;
  }

  /**
   * Waits for the end of the run. Where a loop reads the events it resolves after the loop has had
   * the last one (or has taken none for a second). From now on events that do not fit into the queue are
   * dropped, so it never hangs; where no loop has begun by the next turn of the event loop, all are.
   *
   * @throws RefusedError The agent refused the prompt after all.
   * @throws Termination The connection ended first.
   * @throws DetachedError This handle was cut off because its queue was full.
   */
  async result(): Promise<RunResult<T>> {
    this.queue.makeLossy();
    setTimeout(() => this.#read || this.stop(), 0);
    const { by, last } = await this.#slot.ended;
    if (this.#read) await this.queue.drained(PATIENCE);
    return { endedBy: by, last: last && eventOf<T>(last) };
  }

  protected override began(): void {
    this.#read = true;
  }
}
