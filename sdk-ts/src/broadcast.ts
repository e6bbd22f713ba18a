/** Distribution of all events of one stream to several readers. */

import { UsageError } from "./error.js";
import type { EventFrame } from "./event.js";
import { type Overflow, Queue } from "./queue.js";

/** Time in milliseconds that the stream waits for an inactive reader. */
const INACTIVE_LIMIT = 1000;

/**
 * Limit in UTF-16 units of the log, from which further readers receive the earlier events. A turn of the
 * event loop may be long.
 */
const MAX_LOG = 1 << 20;

/**
 * A queue for each reader of a stream. Events wait in the first queue until a reader starts. Further readers
 * receive the same events if they start in the same turn of the event loop, before {@link MAX_LOG} is
 * exceeded. Later readers are rejected, because consumed events are not stored.
 */
export class Broadcast {
  readonly #first: Queue<EventFrame>;
  #queues: readonly Queue<EventFrame>[];
  /** All events since the start of the stream; `undefined` when no further reader may start. */
  #log: EventFrame[] | undefined;
  #logged = 0;
  #isRead = false;
  #isEndAwaited = false;

  constructor(cap: number, overflow: Overflow) {
    this.#first = new Queue(cap, overflow);
    this.#queues = [this.#first];
  }

  /** Queues, one for each reader. */
  get queues(): readonly Queue<EventFrame>[] {
    return this.#queues;
  }

  /** Sets whether a reader can still start. If not, a full queue no longer delays the stream. */
  set isReachable(is: boolean) {
    for (const queue of this.#queues) queue.isReachable = is;
  }

  /** `true` if a reader has started. */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** `true` if a reader may still consume events. */
  get isSubscribed(): boolean {
    return this.#queues.some((queue) => queue.isSubscribed);
  }

  /** Number of events that did not reach a reader. */
  get dropped(): number {
    return this.#queues.reduce((sum, queue) => sum + queue.dropped, 0);
  }

  /**
   * Returns the queue of a new reader. Fails with a {@link UsageError} if the events were already consumed.
   */
  reader(): Queue<EventFrame> {
    if (!this.#isRead) {
      this.#isRead = true;
      if (this.#isEndAwaited) this.awaitEnd();
      this.#log = this.#first.queued();
      setTimeout(() => (this.#log = undefined), 0);
      return this.#first;
    }
    if (this.#log === undefined) {
      throw new UsageError(
        "the events of this stream are already being read, or were read: start all loops before the first await, or call `client.events()` for a separate stream",
      );
    }
    const queue = this.#first.copy(this.#log);
    this.#queues = [...this.#queues, queue];
    return queue;
  }

  /** Adds an event to the log for further readers. The caller pushes it into the queues. */
  record(event: EventFrame): void {
    if (this.#log === undefined) return;
    this.#log.push(event);
    this.#logged += event.size;
    if (this.#logged > MAX_LOG) this.#log = undefined;
  }

  /**
   * Limits the wait for room once a caller awaits the end of the stream. Without a reader, events no longer
   * wait. An inactive reader delays them by {@link INACTIVE_LIMIT} at most.
   */
  awaitEnd(): void {
    this.#isEndAwaited = true;
    for (const queue of this.#queues) queue.limitWait(this.#isRead ? INACTIVE_LIMIT : 0);
  }

  /** Resolves when every reader has received the last event, or has been inactive for {@link INACTIVE_LIMIT}. */
  async drained(): Promise<void> {
    if (this.#isRead) await Promise.all(this.#queues.map((queue) => queue.drained(INACTIVE_LIMIT)));
  }

  close(error?: unknown): void {
    for (const queue of this.#queues) queue.close(error);
  }

  unsubscribe(): void {
    this.#log = undefined;
    for (const queue of this.#queues) queue.unsubscribe();
  }
}
