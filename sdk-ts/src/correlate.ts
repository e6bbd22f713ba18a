/**
 * Which call an answer belongs to: a table of pending calls, without I/O.
 *
 * An answer with an id settles that call. A failure without an id (omp and pisces send them, pi
 * 0.55 too) settles the oldest call it can belong to: the oldest of the same command, and for the
 * dialect's `parse` the oldest of all whose failures carry no id by the document.
 *
 * A call that its caller gave up stays in the table until its answer comes, so that a late failure
 * without an id is not taken for that of another call.
 */

/** A call that an answer was found for. */
export interface Settled<W> {
  readonly id: string;
  readonly command: string;
  readonly waiter: W;
  /** True where the answer carried no id. */
  readonly attributed: boolean;
  /** The session in which it stops what goes on, where it does that and names one. */
  readonly session?: string | undefined;
}

/** A call; without a waiter it was given up. */
interface Pending<W> {
  readonly command: string;
  readonly failsWithId: boolean;
  readonly session: string | undefined;
  waiter: W | undefined;
}

/** How many calls that were given up are remembered. */
const MAX_ABANDONED = 256;

/** The calls that wait for an answer, oldest first. */
export class Table<W> {
  readonly #calls = new Map<string, Pending<W>>();
  readonly #abandoned = new Set<string>();

  /** Adds a call. `failsWithId` says that its failures carry its id in any case. */
  insert(id: string, command: string, waiter: W, failsWithId = false, session?: string): void {
    this.#calls.set(id, { command, failsWithId, session, waiter });
  }

  /** Takes the call with that id; none where no call waits under it. */
  settle(id: string, attributed = false): Settled<W> | undefined {
    const call = this.#calls.get(id);
    this.#forget(id);
    if (call?.waiter === undefined) return undefined;
    return { id, command: call.command, waiter: call.waiter, attributed, ...(call.session === undefined ? {} : { session: call.session }) };
  }

  /**
   * Takes the oldest call that a failure without an id can belong to; none where that one was given up.
   * `command` is what the failure names; `catchAll` is the name that may stand for any command.
   */
  attribute(command: string | undefined, catchAll: string): Settled<W> | undefined {
    const any = command === undefined || command === catchAll;
    let unlikely: string | undefined;
    for (const [id, call] of this.#calls) {
      if (!any && call.command !== command) continue;
      if (!any || !call.failsWithId) return this.settle(id, true);
      unlikely ??= id;
    }
    return unlikely === undefined ? undefined : this.settle(unlikely, true);
  }

  /** Gives up a call: its answer will belong to nobody. Gives who waited; none where it was answered. */
  abandon(id: string): W | undefined {
    const call = this.#calls.get(id);
    const waiter = call?.waiter;
    if (call === undefined || waiter === undefined) return undefined;
    call.waiter = undefined;
    this.#abandoned.add(id);
    if (this.#abandoned.size > MAX_ABANDONED) this.#forget([...this.#abandoned][0] ?? "");
    return waiter;
  }

  /** Whether somebody waits for the call with that id. */
  waits(id: string): boolean {
    return this.#calls.get(id)?.waiter !== undefined;
  }

  /** The id of the call that somebody waits for, of that command where one is named; none where there are several. */
  only(command: string | undefined): string | undefined {
    const ids = this.ids().filter((id) => command === undefined || this.#calls.get(id)?.command === command);
    return ids.length === 1 ? ids[0] : undefined;
  }

  /** The ids of all calls that wait, oldest first. */
  ids(): string[] {
    return [...this.#calls].filter(([, call]) => call.waiter !== undefined).map(([id]) => id);
  }

  /** Takes all calls, oldest first. */
  drain(): W[] {
    const waiters = [...this.#calls.values()].flatMap(({ waiter }) => (waiter === undefined ? [] : [waiter]));
    this.#calls.clear();
    this.#abandoned.clear();
    return waiters;
  }

  #forget(id: string): void {
    this.#calls.delete(id);
    this.#abandoned.delete(id);
  }
}
