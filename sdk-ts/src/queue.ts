/**
 * The queue between the reader and one subscriber, bounded in size.
 *
 * Items are counted by the size that the pusher gives, so that a thousand small events and one
 * large snapshot weigh what they weigh. The end of the queue carries a reason, which the
 * subscriber sees after the last item.
 */

import { DetachedError } from "./error.js";
import { within } from "./timer.js";

/** How much a queue holds where nothing else is asked for: 64 MiB. */
export const DEFAULT_QUEUE_BYTES = 64 * 1024 * 1024;

/**
 * What happens to an event for which there is no room. `block`: the reader waits, memory stays
 * flat. `coalesce`: a newer snapshot takes the place of the newest queued one of its kind, others
 * wait. `detach`: the subscriber drains what it has and then learns that it was cut off.
 */
export type Overflow = "block" | "coalesce" | "detach";

/** What became of a pushed item; `full` is not in the queue and has to wait for room. */
export type Pushed = "queued" | "dropped" | "full";

interface Item<T> {
  value: T;
  size: number;
  key: string | undefined;
}

interface Taker<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: unknown): void;
}

/** A queue that holds up to `cap`. One item larger than that is taken when the queue is empty. */
export class Queue<T> {
  readonly #cap: number;
  readonly #overflow: Overflow;
  #items: Item<T>[] = [];
  #head = 0;
  #size = 0;
  #takers: Taker<T>[] = [];
  #waiting: (() => void)[] = [];
  #state: "open" | "detached" | "closed" = "open";
  #error: unknown;
  #subscribed = true;
  #drained: (() => void)[] = [];
  #lossy = false;
  #dropped = 0;

  constructor(cap: number, overflow: Overflow) {
    this.#cap = cap;
    this.#overflow = overflow;
  }

  /** How many items have been dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Whether somebody may still take what is pushed. */
  get isSubscribed(): boolean {
    return this.#subscribed;
  }

  /**
   * Resolves when the end has come and everything before it was taken, when nobody will take it any
   * more, or when nothing was taken for `patience` milliseconds: who waits here may be the very one
   * who would have to take it.
   */
  async drained(patience: number): Promise<void> {
    while (this.#subscribed && (this.#state === "open" || this.#head < this.#items.length)) {
      const left = this.#items.length - this.#head;
      await within(patience, new Promise<void>((resolve) => this.#drained.push(resolve)));
      if (this.#items.length - this.#head === left) return;
    }
  }

  /** Queues an item, unless it is dropped or has to wait. Equal keys: the newer one makes the older pointless. */
  push(value: T, size: number, key: string | undefined): Pushed {
    if (!this.#subscribed || this.#state !== "open") return this.#drop();
    const taker = this.#takers.shift();
    if (taker !== undefined) {
      taker.resolve({ done: false, value });
      return "queued";
    }
    if (this.#hasRoom(size)) {
      this.#items.push({ value, size, key });
      this.#size += size;
      return "queued";
    }
    if (this.#lossy) return this.#drop();
    if (this.#overflow === "detach") {
      this.#state = "detached";
      return this.#drop();
    }
    const old = this.#overflow === "coalesce" && key !== undefined ? this.#replaceable(key) : undefined;
    if (old === undefined) return "full";
    this.#size += size - old.size;
    old.value = value;
    old.size = size;
    return "queued";
  }

  /** Resolves when an item of that size need not wait any more: there is room, or it would be dropped. */
  async room(size: number): Promise<void> {
    while (this.#subscribed && this.#state === "open" && !this.#lossy && !this.#hasRoom(size)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The next item; after the last one the end, and the error that it came with once. */
  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#head < this.#items.length) return Promise.resolve({ done: false, value: this.#take() });
    if (this.#state === "open" && this.#subscribed) {
      return new Promise((resolve, reject) => this.#takers.push({ resolve, reject }));
    }
    this.#settle();
    const error = this.#takeError();
    return error === undefined ? Promise.resolve({ done: true, value: undefined }) : Promise.reject(error);
  }

  /** Ends the queue. What is queued can still be taken; the first end counts. */
  close(error?: unknown): void {
    if (this.#state === "open") {
      this.#state = "closed";
      this.#error = error;
    }
    this.#wake();
    for (const taker of this.#takers.splice(0)) {
      const reason = this.#takeError();
      if (reason === undefined) taker.resolve({ done: true, value: undefined });
      else taker.reject(reason);
      this.#settle();
    }
  }

  /** Nobody listens any more: what is queued and what comes is dropped. */
  unsubscribe(): void {
    this.#subscribed = false;
    this.#items = [];
    this.#head = 0;
    this.#size = 0;
    for (const taker of this.#takers.splice(0)) taker.resolve({ done: true, value: undefined });
    this.#settle();
    this.#wake();
  }

  /** From now on nothing waits for room: what does not fit is dropped. */
  makeLossy(): void {
    this.#lossy = true;
    this.#wake();
  }

  #take(): T {
    const item = this.#items[this.#head] as Item<T>;
    this.#items[this.#head] = undefined as unknown as Item<T>;
    this.#head++;
    this.#size -= item.size;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    if (this.#waiting.length > 0) this.#wake();
    return item.value;
  }

  #settle(): void {
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #takeError(): unknown {
    const error = this.#state === "detached" ? new DetachedError(this.#dropped) : this.#error;
    if (this.#state === "detached") this.#state = "closed";
    this.#error = undefined;
    return error;
  }

  #hasRoom(size: number): boolean {
    return this.#head === this.#items.length || this.#size + size <= this.#cap;
  }

  #drop(): Pushed {
    this.#dropped++;
    return "dropped";
  }

  /** The newest queued item with that key. Nothing is moved across an item without a key. */
  #replaceable(key: string): Item<T> | undefined {
    for (let at = this.#items.length - 1; at >= this.#head; at--) {
      const item = this.#items[at];
      if (item?.key === undefined) return undefined;
      if (item.key === key) return item;
    }
    return undefined;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
