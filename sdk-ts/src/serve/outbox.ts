/** Queue of outgoing frames: a common order of responses and events, with a limit for events. */

/** Default limit of unwritten output in bytes, beyond which events wait: 16 MiB. */
export const DEFAULT_OUTBOX_BYTES = 16 * 1024 * 1024;

export class Outbox {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #encoder = new TextEncoder();
  /** Limit of unwritten output in bytes, beyond which events wait. */
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

  /** Resolves when the client no longer reads. */
  get broken(): Promise<void> {
    return this.#broken;
  }

  /** Queues a line, even beyond the limit. Lines are written completely and in order. */
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

  /** Waits until there is room for more output. */
  async waitForRoom(): Promise<void> {
    while (this.#waiting >= this.cap && !this.#isBroken) {
      await new Promise<void>((resolve) => this.#room.push(resolve));
    }
  }

  /**
   * Ends the output. Resolves when all queued lines are written, or when writing has become
   * impossible.
   */
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
