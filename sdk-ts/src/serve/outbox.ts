/** Frames on their way out: one order for answers and events, with a bound for events. */

/** What waits for a client that does not read, in bytes, before events wait: 16 MiB. */
export const DEFAULT_OUTBOX_BYTES = 16 * 1024 * 1024;

export class Outbox {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #encoder = new TextEncoder();
  /** How much may wait before events wait, in bytes. */
  readonly cap: number;
  readonly #broken: Promise<void>;
  #break: () => void = () => undefined;
  #isBroken = false;
  #waiting = 0;
  #room: (() => void)[] = [];

  constructor(writable: WritableStream<Uint8Array>, cap: number) {
    this.cap = cap;
    this.#writer = writable.getWriter();
    this.#broken = new Promise((resolve) => (this.#break = resolve));
    this.#writer.closed.catch(() => this.#fail());
  }

  /** Resolves when the other side does not read any more. */
  get broken(): Promise<void> {
    return this.#broken;
  }

  /** Puts a line in, whatever waits already. Lines stay whole and in order. */
  push(line: string): void {
    if (this.#isBroken) return;
    const bytes = this.#encoder.encode(`${line}\n`);
    this.#waiting += bytes.length;
    this.#writer.write(bytes).then(
      () => {
        this.#waiting -= bytes.length;
        if (this.#waiting < this.cap) this.#wake();
      },
      () => this.#fail(),
    );
  }

  /** Waits until there is room for more. */
  async room(): Promise<void> {
    while (this.#waiting >= this.cap && !this.#isBroken) {
      await new Promise<void>((resolve) => this.#room.push(resolve));
    }
  }

  /** No more lines are taken; resolves when what is in is written, or cannot be. */
  async close(): Promise<void> {
    await Promise.race([this.#writer.close().catch(() => undefined), this.#broken]);
  }

  #fail(): void {
    this.#isBroken = true;
    this.#break();
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#room.splice(0)) resolve();
  }
}
