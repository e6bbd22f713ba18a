/** The runs that clients hold handles of. */

import type { Broadcast } from "../broadcast.js";
import type { EventFrame } from "../event.js";
import type { JsonValue } from "../generated/types.js";
import { Standing, type Verdict } from "../outcome.js";
import { RefusedError, type RunFailedError } from "../error.js";
import type { Meter } from "../run_limits.js";
import { type EndedBy, type Input, RunTracker } from "../run_tracker.js";
import type { StateCommand } from "../spec.js";
import { later } from "../timer.js";
import type { Connection, Waiter } from "./connection.js";

/** How a run ended, on the inside. */
export interface RunEnded {
  readonly by: EndedBy;
  /** The last event that could be the end. */
  readonly last: EventFrame | undefined;
  /** False where the agent did not say in time that nothing follows. */
  readonly confirmed: boolean;
  /** How the run came out. */
  readonly verdict: Verdict;
}

/** A run that is being followed. */
export class RunSlot {
  readonly tracker: RunTracker;
  /** How it stands. */
  readonly standing = new Standing();
  readonly ended: Promise<RunEnded>;
  last: EventFrame | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** What the run fails with when it ends: its signal has stopped it. */
  failure: { readonly error: unknown } | undefined;
  /** What it has used of its limits. */
  meter: Meter | undefined;
  /** The limit that it has reached. */
  limit: RunFailedError | undefined;
  /** Whether the state was asked for and has not come. */
  isAsking = false;
  /** Whether the state that was asked for last has come, or none was asked for. */
  confirmed = true;
  #resolve: (ended: RunEnded) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(
    connection: Connection,
    readonly commandId: string,
    readonly session: string | undefined,
    readonly events: Broadcast,
  ) {
    this.tracker = new RunTracker(connection.runEnd);
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Nobody has to ask for the result.
    this.ended.catch(() => undefined);
  }

  /** Whether events of that session belong to the run. */
  hears(session: string | undefined): boolean {
    return this.session === undefined || session === undefined || this.session === session;
  }

  finish(by: EndedBy): void {
    if (this.failure !== undefined) return this.fail(this.failure.error);
    clearTimeout(this.timer);
    const verdict = this.limit ?? (by === "handled" ? "done" : this.standing.verdict());
    const confirmed = this.confirmed && this.tracker.isCertain && by !== "idle";
    this.#resolve({ by, last: this.last, confirmed, verdict });
    this.events.close(verdict instanceof Error ? verdict : undefined);
  }

  /**
   * Ends it with a failure. A refusal that comes while its work goes on is how the work failed, where no document names
   * another reason.
   */
  fail(error: unknown): void {
    clearTimeout(this.timer);
    if (this.limit !== undefined && error instanceof RefusedError) return this.finish("answer");
    if (this.failure === undefined && error instanceof RefusedError && error.failure === undefined && this.tracker.hasBegun) {
      this.standing.refuse(error.message, error.code === undefined ? undefined : String(error.code));
      return this.finish("answer");
    }
    this.#reject(error);
    this.events.close(error);
  }
}

/** All runs of a connection. */
export class Runs {
  readonly #connection: Connection;
  #slots: readonly RunSlot[] = [];

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Sends a command that starts a run. The run listens before the command is on its way, so that
   * it misses nothing.
   */
  start(command: string, params: object, session: string | undefined, waiter: Waiter): { slot: RunSlot; id: string } {
    const events = this.#connection.newStream();
    let slot: RunSlot | undefined;
    const id = this.#connection.send(command, params, waiter, (commandId) => {
      slot = new RunSlot(this.#connection, commandId, session, events);
      this.#slots = [...this.#slots, slot];
      this.#connection.addListener(slot);
    });
    return { slot: slot as RunSlot, id };
  }

  /** Forgets a run that nobody is interested in any more; the work goes on. */
  forget(slot: RunSlot): void {
    clearTimeout(slot.timer);
    slot.events.unsubscribe();
    this.#remove(slot);
  }

  #remove(slot: RunSlot): void {
    this.#slots = this.#slots.filter((other) => other !== slot);
    this.#connection.removeListener(slot);
  }

  /** The run that the command with that id started. */
  of(commandId: string): RunSlot | undefined {
    return this.#slots.find((slot) => slot.commandId === commandId);
  }

  /** Notes an event that could be the last one of the runs of its session. */
  note(session: string | undefined, event: EventFrame): void {
    for (const slot of this.#slots) if (slot.hears(session)) slot.last = event;
  }

  /** Tells all runs of a session. */
  feedAll(session: string | undefined, input: Input): void {
    for (const slot of this.#slots) if (slot.hears(session)) this.feed(slot, input);
  }

  /** Tells one run and does what it wants. */
  feed(slot: RunSlot, input: Input): void {
    slot.tracker.rules = this.#connection.runEnd;
    const action = slot.tracker.feed(input);
    switch (action?.want) {
      case "end":
        this.end(slot, action.by);
        break;
      case "wake":
        clearTimeout(slot.timer);
        slot.timer = setTimeout(() => this.feed(slot, "elapsed"), action.after);
        break;
      case "state":
        this.#ask(slot);
        break;
      case undefined:
    }
  }

  end(slot: RunSlot, by: EndedBy): void {
    if (!this.#slots.includes(slot)) return;
    this.#remove(slot);
    slot.finish(by);
  }

  fail(slot: RunSlot, error: unknown): void {
    this.#remove(slot);
    slot.fail(error);
  }

  /** The connection has ended, for that reason. */
  finishAll(error: unknown): void {
    for (const slot of this.#slots) {
      this.feed(slot, "closed");
      if (this.#slots.includes(slot)) this.fail(slot, error);
    }
  }

  /** Tells all runs of a session what an event says of how they stand. */
  tell(session: string | undefined, { type, spec, body }: EventFrame): void {
    for (const slot of this.#slots) {
      if (!slot.hears(session)) continue;
      slot.meter?.hear(type, body);
      if (spec?.outcome !== undefined) slot.standing.hear(spec.outcome, body);
      // An end of which nothing else is told may be that of earlier work.
      if ((spec?.run !== "may_end" && spec?.run !== "ends") || slot.standing.isAmiss) slot.tracker.feed("heard");
    }
  }

  /** The agent has acknowledged that it stops what goes on in a session. */
  stop(session: string | undefined): void {
    for (const slot of this.#slots) if (slot.hears(session)) slot.standing.stop();
    this.feedAll(session, "stopped");
  }

  /** Asks for the state, with a limit: a mute agent must not hold a run for ever. */
  #ask(slot: RunSlot): void {
    const connection = this.#connection;
    const { barrier, state = barrier } = connection.runEnd;
    // An answer that is on its way serves as well: it comes after what was seen.
    if (state === undefined || connection.ended !== undefined || slot.isAsking) return;
    slot.isAsking = true;
    const came = (input: Input): void => {
      slot.isAsking = false;
      slot.confirmed = input !== "no_state";
      clearTimeout(slot.timer);
      this.feed(slot, input);
    };
    const waiter: Waiter = { answered: (data) => came(busy(data, state)), failed: () => came("no_state") };
    clearTimeout(slot.timer);
    try {
      // Its failure is never one without an id: the state cannot fail.
      const { session } = connection.spec;
      const params = session === undefined || slot.session === undefined ? {} : { [session]: slot.session };
      const id = connection.send(state.command, params, waiter, undefined, true);
      // Nothing else is waited for meanwhile, so that the slot's one timer serves.
      slot.timer = later(Math.min(state.limit, connection.settings.timeout || Infinity), () =>
        connection.pending.abandon(id)?.failed(undefined),
      );
    } catch {
      came("no_state");
    }
  }
}

function busy(data: JsonValue | undefined, { busy, idle }: StateCommand): Input {
  const value = typeof data === "object" && data !== null && !Array.isArray(data) ? data[busy] : undefined;
  if (idle !== undefined) return typeof value !== "string" ? "no_state" : value === idle ? "idle" : "busy";
  return value === true ? "busy" : value === false ? "idle" : "no_state";
}
