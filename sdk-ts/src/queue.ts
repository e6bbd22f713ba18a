/**
 * Queue between the reader and one subscriber, bounded in size.
 *
 * The limit applies to the sum of the item sizes, not to their number. The end of the queue has a reason,
 * which the subscriber receives after the last item.
 */

import { DetachedError } from "./error.js";
import { within } from "./timer.js";

/** Default limit of a queue: 64 Mi characters. */
export const DEFAULT_QUEUE_BYTES = 64 * 1024 * 1024;

/**
 * Overflow policy for an event without room.
 *
 * `block`: the reader waits, and memory stays constant. `coalesce`: a newer snapshot replaces the newest
 * queued one of its kind; other events wait. `detach`: the subscriber is detached; it reads the queued events
 * and then fails with a {@link DetachedError}.
 */
export type Overflow = "block" | "coalesce" | "detach";

/**
 * Outcome of a push. After `full`, the item is not in the queue: the caller has to wait for room and push it
 * again.
 */
export type PushResult = "queued" | "dropped" | "full";

/**
 * Total size of queued items beyond which the reader yields to the subscriber. Recently written memory is
 * fast to read.
 */
const YIELD_THRESHOLD = 16 * 1024;

/** Item of a queue. */
export interface Item {
  readonly size: number;
  /** Key of a snapshot: a newer item with an equal key supersedes an older one. */
  readonly key: string | undefined;
}

interface Consumer<T> {
  take(item: T): void;
  end(error: unknown): void;
}

/** Queue with a size limit. A larger single item is accepted when the queue is empty. */
export class Queue<T extends Item> {
  #cap: number;
  readonly #overflow: Overflow;
  #items: T[] = [];
  #head = 0;
  #size = 0;
  #consumers: Consumer<T>[] = [];
  /** Listener that receives every item at once, in place of single reads. */
  #listener: Consumer<T> | undefined;
  #waiting: (() => void)[] = [];
  #idle: () => void = () => undefined;
  /** `true` if no item was consumed since the last call of `idle`. */
  #isInactive = false;
  #state: "open" | "detached" | "closed" = "open";
  #error: unknown;
  #isEndDelivered = false;
  #subscribed = true;
  #drained: (() => void)[] = [];
  /**
   * Time in milliseconds after which an inactive subscriber no longer delays an item; `undefined` for no
   * limit.
   */
  #patience: number | undefined;
  /** `true` if items without room are dropped. */
  #lossy = false;
  /** Number of items dropped for lack of room. */
  #lost = 0;
  #dropped = 0;
  #taken = 0;
  /** `true` if a subscriber can consume items. If `false`, a full queue drops items at once. */
  isReachable = true;

  constructor(cap: number, overflow: Overflow) {
    this.#cap = cap;
    this.#overflow = overflow;
  }

  /** Number of dropped items. */
  get dropped(): number {
    return this.#dropped;
  }

  /** `true` while the subscriber may still consume items. */
  get isSubscribed(): boolean {
    return this.#subscribed;
  }

  /** Returns the queued items, oldest first. */
  queued(): T[] {
    return this.#items.slice(this.#head);
  }

  /** Returns a queue with the same policy and state that contains the given items. */
  copy(items: readonly T[]): Queue<T> {
    const queue = new Queue<T>(this.#cap, this.#overflow);
    queue.#items = [...items];
    queue.#size = items.reduce((sum, item) => sum + item.size, 0);
    queue.#state = this.#state;
    queue.#error = this.#error;
    queue.#patience = this.#patience;
    queue.#lossy = this.#lossy;
    queue.#lost = this.#lost;
    return queue;
  }

  /**
   * Resolves when the subscriber has emptied the queue; the reader awaits it to stay close to its subscriber.
   * Returns `undefined` if few items are queued, or if no item was consumed since the last call.
   */
  idle(): Promise<void> | undefined {
    if (this.#size <= YIELD_THRESHOLD || this.#isInactive) return undefined;
    this.#isInactive = true;
    return new Promise((resolve) => (this.#idle = resolve));
  }

  /**
   * Resolves after the end of the queue when every item was consumed, or when the subscriber has left. Also
   * resolves if no item is consumed for `patience` milliseconds, as the awaiting code may be the subscriber
   * itself.
   */
  async drained(patience: number): Promise<void> {
    while (this.#subscribed && (this.#state === "open" || this.#head < this.#items.length)) {
      const left = this.#items.length - this.#head;
      await within(patience, new Promise<void>((resolve) => this.#drained.push(resolve)));
      if (this.#items.length - this.#head === left) return;
    }
  }

  /** Queues an item, unless it is dropped or must wait. */
  push(item: T): PushResult {
    if (!this.#subscribed || this.#state !== "open") return this.#drop();
    const consumer = this.#listener ?? this.#consumers.shift();
    if (consumer !== undefined) {
      consumer.take(item);
      return "queued";
    }
    if (this.#hasRoom(item.size) || (!this.isReachable && this.#overflow === "block")) return this.#add(item);
    if (this.#lossy && this.isReachable) {
      this.#lost++;
      return this.#drop();
    }
    if (this.#overflow === "detach") {
      this.#state = "detached";
      return this.#drop();
    }
    const at = this.#overflow === "coalesce" && item.key !== undefined ? this.#replaceable(item.key) : -1;
    const old = this.#items[at];
    if (old === undefined) return this.isReachable ? "full" : this.#add(item);
    this.#size += item.size - old.size;
    this.#items[at] = item;
    return "queued";
  }

  #add(item: T): PushResult {
    this.#items.push(item);
    this.#size += item.size;
    return "queued";
  }

  /** Resolves when an item of that size fits into the queue, or will be dropped. */
  async waitForRoom(size: number): Promise<void> {
    while (this.#subscribed && this.#state === "open" && !this.#lossy && this.isReachable && !this.#hasRoom(size)) {
      const woken = new Promise<void>((resolve) => this.#waiting.push(resolve));
      const patience = this.#patience;
      const taken = this.#taken;
      if (patience === undefined) await woken;
      else if (!(await within(patience, woken)) && taken === this.#taken) this.#lossy = true;
    }
  }

  /**
   * Returns the next item, as converted by `view`. After the last item it returns the end, or fails once with
   * the error of the end.
   */
  next<V>(view: (item: T) => V): Promise<IteratorResult<V, undefined>> {
    if (this.#head < this.#items.length) return Promise.resolve({ done: false, value: view(this.#take()) });
    return new Promise((resolve, reject) => {
      const end = (error: unknown): void =>
        error === undefined ? resolve({ done: true, value: undefined }) : reject(error);
      if (this.#state === "open" && this.#subscribed) {
        this.#consumers.push({ take: (item) => resolve({ done: false, value: view(item) }), end });
      } else {
        this.#settle();
        end(this.#takeError());
      }
    });
  }

  /**
   * Passes every item to the listener at once. Resolves at the end, and fails with its error. A listener that
   * throws receives no further items, and the promise fails with its exception.
   */
  forEach(listener: (item: T) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (error: unknown): void => (error === undefined ? resolve() : reject(error));
      const take = (item: T): void => {
        try {
          listener(item);
        } catch (error) {
          reject(error);
          this.unsubscribe();
        }
      };
      while (this.#head < this.#items.length) take(this.#take());
      if (this.#state === "open" && this.#subscribed) {
        this.#listener = { take, end };
      } else {
        this.#settle();
        end(this.#takeError());
      }
    });
  }

  /**
   * Ends the queue. Queued items can still be consumed. If it is called several times, the first reason
   * applies.
   */
  close(error?: unknown): void {
    if (this.#state === "open") {
      this.#state = "closed";
      this.#error = error;
    }
    this.#wake();
    for (const consumer of this.#takeConsumers()) {
      consumer.end(this.#takeError());
      this.#settle();
    }
  }

  /** Removes the subscriber. Queued and further items are dropped. */
  unsubscribe(): void {
    this.#subscribed = false;
    this.#items = [];
    this.#head = 0;
    this.#size = 0;
    this.#idle();
    for (const consumer of this.#takeConsumers()) consumer.end(undefined);
    this.#settle();
    this.#wake();
  }

  /**
   * Limits the wait for room: it ends once the subscriber has read nothing for `patience` milliseconds. If items are
   * dropped afterwards, the subscription ends with a {@link DetachedError}.
   */
  limitWait(patience: number): void {
    this.#patience = patience;
    this.#wake();
  }

  /** Removes the size limit, because few further items can arrive. */
  removeLimit(): void {
    this.#cap = Infinity;
    this.#wake();
  }

  #take(): T {
    const item = this.#items[this.#head] as T;
    this.#items[this.#head] = undefined as unknown as T;
    this.#head++;
    this.#taken++;
    this.#size -= item.size;
    this.#isInactive = false;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
      this.#idle();
    } else if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    if (this.#waiting.length > 0) this.#wake();
    return item;
  }

  /** Removes and returns all pending readers. */
  #takeConsumers(): Consumer<T>[] {
    const consumers = this.#consumers.splice(0);
    if (this.#listener !== undefined) consumers.push(this.#listener);
    this.#listener = undefined;
    return consumers;
  }

  #settle(): void {
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #takeError(): unknown {
    if (this.#isEndDelivered) return undefined;
    this.#isEndDelivered = true;
    if (this.#state === "detached") return new DetachedError(this.#dropped);
    // A subscriber that has left receives no error about losses.
    return this.#error ?? (this.#lost > 0 && this.#subscribed ? new DetachedError(this.#lost) : undefined);
  }

  #hasRoom(size: number): boolean {
    return this.#head === this.#items.length || this.#size + size <= this.#cap;
  }

  #drop(): PushResult {
    this.#dropped++;
    return "dropped";
  }

  /**
   * Returns the position of the newest queued item with that key, or -1. The search stops at an item without
   * a key, so that the order is preserved.
   */
  #replaceable(key: string): number {
    for (let at = this.#items.length - 1; at >= this.#head; at--) {
      const found = this.#items[at]?.key;
      if (found === undefined) return -1;
      if (found === key) return at;
    }
    return -1;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
