/**
 * Which call an answer belongs to: a table of pending calls, without I/O.
 *
 * An answer with an id settles that call. A failure without an id (omp and pisces send them, pi
 * 0.55 too) settles the oldest call it can belong to: the oldest of the same command, and for the
 * dialect's `parse` the oldest of all.
 */

/** A call that an answer was found for. */
export interface Settled<W> {
  readonly id: string;
  readonly command: string;
  readonly waiter: W;
  /** True where the answer carried no id. */
  readonly attributed: boolean;
}

/** The calls that wait for an answer, oldest first. */
export class Table<W> {
  readonly #calls = new Map<string, { command: string; waiter: W }>();

  insert(id: string, command: string, waiter: W): void {
    this.#calls.set(id, { command, waiter });
  }

  /** Takes the call with that id; none where no call waits under it. */
  settle(id: string, attributed = false): Settled<W> | undefined {
    const call = this.#calls.get(id);
    if (call === undefined) return undefined;
    this.#calls.delete(id);
    return { id, ...call, attributed };
  }

  /**
   * Takes the oldest call that a failure without an id can belong to. `command` is what the
   * failure names; `catchAll` is the name that may stand for any command.
   */
  attribute(command: string | undefined, catchAll: string): Settled<W> | undefined {
    for (const [id, call] of this.#calls) {
      if (command === undefined || command === catchAll || call.command === command) return this.settle(id, true);
    }
    return undefined;
  }

  /** The ids of all calls that wait, oldest first. */
  ids(): string[] {
    return [...this.#calls.keys()];
  }

  /** Takes all calls, oldest first. */
  drain(): W[] {
    const waiters = [...this.#calls.values()].map((call) => call.waiter);
    this.#calls.clear();
    return waiters;
  }
}
