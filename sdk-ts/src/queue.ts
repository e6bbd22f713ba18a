/**
 * The queue between the reader and one subscriber, bounded in size.
 *
 * The bound is on the sum of the items' sizes, not on their number. The end of the queue carries a reason, which
 * the subscriber sees after the last item.
 */

import { DetachedError } from "./error.js";
import { within } from "./timer.js";

/** How much a queue holds by default: 64 Mi characters. */
export const DEFAULT_QUEUE_BYTES = 64 * 1024 * 1024;

/**
 * What happens to an event for which there is no room. `block`: the reader waits, memory stays
 * flat. `coalesce`: a newer snapshot takes the place of the newest queued one of its kind, others
 * wait. `detach`: the subscriber reads what is queued and then fails with a {@link DetachedError}.
 */
export type Overflow = "block" | "coalesce" | "detach";

/** What became of a pushed item; `full` is not in the queue and has to wait for room. */
export type Pushed = "queued" | "dropped" | "full";

/** How much may wait for a subscriber before the reader lets it come after: memory that is touched soon is fast. */
const AHEAD = 16 * 1024;

/** An item of a queue. */
export interface Item {
  readonly size: number;
  /** Equal keys: the newer one makes the older one pointless. */
  readonly key: string | undefined;
}

interface Taker<T> {
  take(item: T): void;
  end(error: unknown): void;
}

/** A queue that holds up to `cap`. One item larger than that is taken when the queue is empty. */
export class Queue<T extends Item> {
  #cap: number;
  readonly #overflow: Overflow;
  #items: T[] = [];
  #head = 0;
  #size = 0;
  #takers: Taker<T>[] = [];
  /** Who is given every item at once, in place of those that take one. */
  #listener: Taker<T> | undefined;
  #waiting: (() => void)[] = [];
  #idle: () => void = () => undefined;
  /** Whether nothing was taken since somebody waited for that. */
  #waitedFor = false;
  #state: "open" | "detached" | "closed" = "open";
  #error: unknown;
  #isToldOfEnd = false;
  #subscribed = true;
  #drained: (() => void)[] = [];
  /** How long an item waits for room while the subscriber takes nothing, in milliseconds; without it for ever. */
  #patience: number | undefined;
  /** Items that find no room are dropped. */
  #lossy = false;
  /** How many items were dropped for want of room. */
  #lost = 0;
  #dropped = 0;
  #taken = 0;
  /** Whether somebody can take what is pushed; as long as nobody can, nothing waits for room. */
  isReachable = true;

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

  /** What waits to be taken, oldest first. */
  queued(): T[] {
    return this.#items.slice(this.#head);
  }

  /** A queue of the same kind, and at the same end, in which these items wait. */
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
   * Resolves when nothing waits to be taken, for the one who would rather not get ahead of the subscriber. None where
   * little waits, or where the subscriber was waited for and has taken nothing since.
   */
  idle(): Promise<void> | undefined {
    if (this.#size <= AHEAD || this.#waitedFor) return undefined;
    this.#waitedFor = true;
    return new Promise((resolve) => (this.#idle = resolve));
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

  /** Queues an item, unless it is dropped or has to wait. */
  push(item: T): Pushed {
    if (!this.#subscribed || this.#state !== "open") return this.#drop();
    const taker = this.#listener ?? this.#takers.shift();
    if (taker !== undefined) {
      taker.take(item);
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

  #add(item: T): Pushed {
    this.#items.push(item);
    this.#size += item.size;
    return "queued";
  }

  /** Resolves when an item of that size need not wait any more: there is room, or it would be dropped. */
  async room(size: number): Promise<void> {
    while (this.#subscribed && this.#state === "open" && !this.#lossy && this.isReachable && !this.#hasRoom(size)) {
      const woken = new Promise<void>((resolve) => this.#waiting.push(resolve));
      const patience = this.#patience;
      const taken = this.#taken;
      if (patience === undefined) await woken;
      else if (!(await within(patience, woken)) && taken === this.#taken) this.#lossy = true;
    }
  }

  /** The next item, as `view` shows it; after the last one the end, and the error that it came with once. */
  next<V>(view: (item: T) => V): Promise<IteratorResult<V, undefined>> {
    if (this.#head < this.#items.length) return Promise.resolve({ done: false, value: view(this.#take()) });
    return new Promise((resolve, reject) => {
      const end = (error: unknown): void =>
        error === undefined ? resolve({ done: true, value: undefined }) : reject(error);
      if (this.#state === "open" && this.#subscribed) {
        this.#takers.push({ take: (item) => resolve({ done: false, value: view(item) }), end });
      } else {
        this.#settle();
        end(this.#takeError());
      }
    });
  }

  /**
   * Gives every item to the listener as it is pushed. Resolves at the end; fails with the end's error,
   * or with what the listener throws, who then gets nothing more.
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

  /** Ends the queue. What is queued can still be taken; the first end counts. */
  close(error?: unknown): void {
    if (this.#state === "open") {
      this.#state = "closed";
      this.#error = error;
    }
    this.#wake();
    for (const taker of this.#ending()) {
      taker.end(this.#takeError());
      this.#settle();
    }
  }

  /** Nobody listens any more: what is queued and what comes is dropped. */
  unsubscribe(): void {
    this.#subscribed = false;
    this.#items = [];
    this.#head = 0;
    this.#size = 0;
    this.#idle();
    for (const taker of this.#ending()) taker.end(undefined);
    this.#settle();
    this.#wake();
  }

  /**
   * From now on nothing waits for room longer than that many milliseconds, unless the subscriber takes something
   * meanwhile. What is dropped then is told at the end, with a {@link DetachedError}.
   */
  limitWait(patience: number): void {
    this.#patience = patience;
    this.#wake();
  }

  /** From now on there is room for everything: what may still come is little. */
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
    this.#waitedFor = false;
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

  /** All who take, and take no more. */
  #ending(): Taker<T>[] {
    const ending = this.#takers.splice(0);
    if (this.#listener !== undefined) ending.push(this.#listener);
    this.#listener = undefined;
    return ending;
  }

  #settle(): void {
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #takeError(): unknown {
    if (this.#isToldOfEnd) return undefined;
    this.#isToldOfEnd = true;
    if (this.#state === "detached") return new DetachedError(this.#dropped);
    // Nobody is told of a loss who stopped listening.
    return this.#error ?? (this.#lost > 0 && this.#subscribed ? new DetachedError(this.#lost) : undefined);
  }

  #hasRoom(size: number): boolean {
    return this.#head === this.#items.length || this.#size + size <= this.#cap;
  }

  #drop(): Pushed {
    this.#dropped++;
    return "dropped";
  }

  /** Where the newest queued item with that key is; -1: nowhere. Nothing is moved across an item without a key. */
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
