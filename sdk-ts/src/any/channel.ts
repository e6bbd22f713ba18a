/** Events that wait for one reader. */

/** How many events wait at most; beyond that the reader is cut off. */
const MOST = 1 << 19;

/** A queue with one reader, an asynchronous iterator. */
export class Channel<E> implements AsyncIterableIterator<E> {
  #waiting: E[] = [];
  #taken = 0;
  #wake: (() => void) | undefined;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #left: () => void;

  /** `left` is called when the reader goes. */
  constructor(left: () => void) {
    this.#left = left;
  }

  /** Gives an event to the reader; false where it takes none any more. */
  push(event: E): boolean {
    if (this.#isOver) return false;
    this.#waiting.push(event);
    if (this.#waiting.length - this.#taken > MOST) this.end({ error: new RangeError(`${MOST} events were not read`) });
    this.#wake?.();
    return !this.#isOver;
  }

  /** Nothing follows what is there; `failure` is thrown then, once. */
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
    const value = this.#waiting[this.#taken++] as E;
    if (this.#taken === this.#waiting.length) {
      this.#waiting = [];
      this.#taken = 0;
    }
    return { done: false, value };
  }

  return(): Promise<IteratorResult<E, undefined>> {
    this.end();
    this.#waiting = [];
    this.#taken = 0;
    this.#left();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
