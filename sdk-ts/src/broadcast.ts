/** The events of one stream, all of them for each reader. */

import { UsageError } from "./error.js";
import type { EventFrame } from "./event.js";
import { type Overflow, Queue } from "./queue.js";

/** How long readers that take no events are waited for, in milliseconds. */
const PATIENCE = 1000;

/** How much is kept for readers that may still come, in UTF-16 units: a turn of the event loop may be long. */
const KEPT = 1 << 20;

/**
 * A queue for each reader of a stream. Events wait in the first queue until a reader comes. Readers that come in the
 * same turn of the event loop as the first one, and before more than {@link KEPT} has come in it, are given the same
 * events; later ones are refused, because what was read is not kept.
 */
export class Broadcast {
  readonly #first: Queue<EventFrame>;
  #queues: readonly Queue<EventFrame>[];
  /** Everything since the stream began, while further readers may come. */
  #log: EventFrame[] | undefined;
  #logged = 0;
  #isRead = false;
  #isEndAwaited = false;

  constructor(cap: number, overflow: Overflow) {
    this.#first = new Queue(cap, overflow);
    this.#queues = [this.#first];
  }

  /** One queue for each reader. */
  get queues(): readonly Queue<EventFrame>[] {
    return this.#queues;
  }

  /** Whether somebody can read; as long as nobody can, nothing waits for room. */
  set isReachable(is: boolean) {
    for (const queue of this.#queues) queue.isReachable = is;
  }

  /** Whether somebody reads, or has read. */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** Whether somebody may still take what comes. */
  get isSubscribed(): boolean {
    return this.#queues.some((queue) => queue.isSubscribed);
  }

  /** How many events did not reach a reader. */
  get dropped(): number {
    return this.#queues.reduce((sum, queue) => sum + queue.dropped, 0);
  }

  /** The queue of a new reader. Fails with a {@link UsageError} where the events were read before. */
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
        "the events of this stream are being read already, or were read: begin all loops before the first await, or call `client.events()` for a stream of its own",
      );
    }
    const queue = this.#first.copy(this.#log);
    this.#queues = [...this.#queues, queue];
    return queue;
  }

  /** Notes an event for readers that may still come. Pushing it into the queues is the caller's. */
  note(event: EventFrame): void {
    if (this.#log === undefined) return;
    this.#log.push(event);
    this.#logged += event.size;
    if (this.#logged > KEPT) this.#log = undefined;
  }

  /**
   * Somebody waits for the end: events wait for room no longer where nobody reads, and for {@link PATIENCE} where
   * a reader takes nothing.
   */
  awaitEnd(): void {
    this.#isEndAwaited = true;
    for (const queue of this.#queues) queue.limitWait(this.#isRead ? PATIENCE : 0);
  }

  /** Resolves when every reader has had the last event, or has taken none for {@link PATIENCE}. */
  async drained(): Promise<void> {
    if (this.#isRead) await Promise.all(this.#queues.map((queue) => queue.drained(PATIENCE)));
  }

  close(error?: unknown): void {
    for (const queue of this.#queues) queue.close(error);
  }

  unsubscribe(): void {
    this.#log = undefined;
    for (const queue of this.#queues) queue.unsubscribe();
  }
}
