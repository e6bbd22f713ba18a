/** Queue of events for one reader. */

/** Limit of queued events in UTF-16 units. Beyond it, the reader fails. */
const MOST = 64 << 20;

/** Queue with one reader, as an asynchronous iterator. */
export class Channel<E> implements AsyncIterableIterator<E> {
  #waiting: { readonly event: E; readonly size: number }[] = [];
  #size = 0;
  #taken = 0;
  #wake: (() => void) | undefined;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #left: () => void;

  /** Creates an empty queue. `left` is called when the reader stops. */
  constructor(left: () => void) {
    this.#left = left;
  }

  /**
   * Queues an event. Returns `false` if the queue has ended. `size` is the approximate memory of the event in
   * UTF-16 units.
   */
  push(event: E, size: number): boolean {
    if (this.#isOver) return false;
    if (this.#size > MOST) {
      this.end({ error: new RangeError(`${MOST >> 20} Mi characters of events were not read`) });
      return false;
    }
    this.#waiting.push({ event, size });
    this.#size += size;
    this.#wake?.();
    return true;
  }

  /** Ends the queue after the queued events. Then the reader throws `failure` once, if given. */
  end(failure?: { readonly error: unknown }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = failure;
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<E, undefined>> {
    while (this.#taken === this.#waiting.length) {
      if (this.#isOver) {
        const failure = this.#failure;
        this.#failure = undefined;
        if (failure !== undefined) throw failure.error;
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const { event, size } = this.#waiting[this.#taken++] as { event: E; size: number };
    this.#size -= size;
    if (this.#taken === this.#waiting.length) {
      this.#waiting = [];
      this.#taken = 0;
    }
    return { done: false, value: event };
  }

  return(): Promise<IteratorResult<E, undefined>> {
    this.end();
    this.#waiting = [];
    this.#taken = this.#size = 0;
    this.#left();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
