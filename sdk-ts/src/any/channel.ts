/** Queue of events for one reader. */

/** Limit of queued events in UTF-16 units. Beyond it, the reader fails. */
const MAX_QUEUED = 64 << 20;

/** Queue with one reader, as an asynchronous iterator. */
export class Channel<E> implements AsyncIterableIterator<E> {
  #waiting: { readonly event: E; readonly size: number }[] = [];
  #size = 0;
  #head = 0;
  #wake: (() => void) | undefined;
  #isEnded = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #onClose: () => void;

  /** Creates an empty queue. `onClose` is called when the reader stops. */
  constructor(onClose: () => void) {
    this.#onClose = onClose;
  }

  /**
   * Queues an event. Returns `false` if the queue has ended. `size` is the approximate memory of the event in
   * UTF-16 units.
   */
  push(event: E, size: number): boolean {
    if (this.#isEnded) return false;
    if (this.#size > MAX_QUEUED) {
      this.end({ error: new RangeError(`${MAX_QUEUED >> 20} Mi characters of events were not read`) });
      return false;
    }
    this.#waiting.push({ event, size });
    this.#size += size;
    this.#wake?.();
    return true;
  }

  /** Ends the queue after the queued events. Then the reader throws `failure` once, if given. */
  end(failure?: { readonly error: unknown }): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#failure = failure;
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<E, undefined>> {
    while (this.#head === this.#waiting.length) {
      if (this.#isEnded) {
        const failure = this.#failure;
        this.#failure = undefined;
        if (failure !== undefined) throw failure.error;
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const { event, size } = this.#waiting[this.#head++] as { event: E; size: number };
    this.#size -= size;
    if (this.#head === this.#waiting.length) {
      this.#waiting = [];
      this.#head = 0;
    }
    return { done: false, value: event };
  }

  return(): Promise<IteratorResult<E, undefined>> {
    this.end();
    this.#waiting = [];
    this.#head = this.#size = 0;
    this.#onClose();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
