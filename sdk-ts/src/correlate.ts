/**
 * Assignment of responses to calls: a table of pending calls, without I/O.
 *
 * A response with an id settles that call. omp, pisces and pi 0.55 also send failures without an id. Such a
 * failure settles the oldest call of the same command. A failure of the pseudo-command `parse` settles the
 * oldest call whose documented failures have no id.
 *
 * A cancelled call stays in the table until its response arrives. Otherwise a late failure without an id
 * could settle another call.
 */

/** Call for which a response arrived. */
export interface SettledCall<W> {
  readonly id: string;
  readonly command: string;
  readonly waiter: W;
  /** `true` if the response had no id, so that the call was inferred. */
  readonly attributed: boolean;
  /** Session in which the command aborts work, if it names one. */
  readonly session?: string | undefined;
}

/** Pending call. It has no waiter after its cancellation. */
interface PendingCall<W> {
  readonly command: string;
  readonly failsWithId: boolean;
  readonly session: string | undefined;
  waiter: W | undefined;
}

/** Maximum number of cancelled calls in the table. */
const MAX_ABANDONED = 256;

/** Pending calls, oldest first. */
export class PendingCalls<W> {
  readonly #calls = new Map<string, PendingCall<W>>();
  readonly #abandoned = new Set<string>();

  /** Adds a call. `failsWithId` means that its failures always carry its id. */
  insert(id: string, command: string, waiter: W, failsWithId = false, session?: string): void {
    this.#calls.set(id, { command, failsWithId, session, waiter });
  }

  /** Removes and returns the call with that id; `undefined` if no such call is pending. */
  settle(id: string, attributed = false): SettledCall<W> | undefined {
    const call = this.#calls.get(id);
    this.#forget(id);
    if (call?.waiter === undefined) return undefined;
    return { id, command: call.command, waiter: call.waiter, attributed, ...(call.session === undefined ? {} : { session: call.session }) };
  }

  /**
   * Removes and returns the oldest call to which a failure without an id can belong; `undefined` if that call
   * was cancelled. `command` is the command name in the failure. `catchAll` is the name that stands for any
   * command.
   */
  attribute(command: string | undefined, catchAll: string): SettledCall<W> | undefined {
    const any = command === undefined || command === catchAll;
    let unlikely: string | undefined;
    for (const [id, call] of this.#calls) {
      if (!any && call.command !== command) continue;
      if (!any || !call.failsWithId) return this.settle(id, true);
      unlikely ??= id;
    }
    return unlikely === undefined ? undefined : this.settle(unlikely, true);
  }

  /** Cancels a call and returns its waiter; `undefined` if the call was already answered. */
  abandon(id: string): W | undefined {
    const call = this.#calls.get(id);
    const waiter = call?.waiter;
    if (call === undefined || waiter === undefined) return undefined;
    call.waiter = undefined;
    this.#abandoned.add(id);
    if (this.#abandoned.size > MAX_ABANDONED) this.#forget([...this.#abandoned][0] ?? "");
    return waiter;
  }

  /** Returns `true` if the call with that id is pending. */
  isPending(id: string): boolean {
    return this.#calls.get(id)?.waiter !== undefined;
  }

  /**
   * Returns the id of the only pending call, of the given command if one is given; `undefined` if there are
   * several.
   */
  only(command: string | undefined): string | undefined {
    const ids = this.ids().filter((id) => command === undefined || this.#calls.get(id)?.command === command);
    return ids.length === 1 ? ids[0] : undefined;
  }

  /** Returns the ids of all pending calls, oldest first. */
  ids(): string[] {
    return [...this.#calls].filter(([, call]) => call.waiter !== undefined).map(([id]) => id);
  }

  /** Removes and returns all calls, oldest first. */
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
