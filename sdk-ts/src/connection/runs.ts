/** Runs with a handle at a client. */

import type { Broadcast } from "../broadcast.js";
import type { EventFrame } from "../event.js";
import type { JsonValue } from "../generated/types.js";
import { OutcomeTracker, type RunOutcome } from "../outcome.js";
import { RefusedError, type RunFailedError } from "../error.js";
import type { Meter } from "../run_limits.js";
import { type EndedBy, type Input, RunTracker } from "../run_tracker.js";
import type { StateCommand } from "../spec.js";
import { later } from "../timer.js";
import type { ConnectionCore, Waiter } from "./core.js";

/** Internal result of a run. */
export interface RunCompletion {
  readonly by: EndedBy;
  /** Last event that may end the run. */
  readonly last: EventFrame | undefined;
  /** `false` if the agent did not confirm the end in time. */
  readonly confirmed: boolean;
  /** Outcome of the run. */
  readonly outcome: RunOutcome;
}

/** Run in progress. */
export class RunSlot {
  readonly tracker: RunTracker;
  /** Outcome so far. */
  readonly outcomeTracker = new OutcomeTracker();
  readonly ended: Promise<RunCompletion>;
  last: EventFrame | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Error at the end of the run, after its signal has aborted it. */
  failure: { readonly error: unknown } | undefined;
  /** Usage of the run, if it has limits. */
  meter: Meter | undefined;
  /** Error of the limit that the run has reached. */
  limit: RunFailedError | undefined;
  /** Number of unanswered queries of the state. */
  pendingQueries = 0;
  /** `true` if the last query of the state was answered, or no query was sent. */
  confirmed = true;
  #resolve: (ended: RunCompletion) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(
    connection: ConnectionCore,
    readonly commandId: string,
    readonly session: string | undefined,
    readonly events: Broadcast,
  ) {
    this.tracker = new RunTracker(connection.runEnd);
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A caller need not await the result.
    this.ended.catch(() => undefined);
  }

  /** Returns `true` if events of that session belong to the run. */
  matchesSession(session: string | undefined): boolean {
    return this.session === undefined || session === undefined || this.session === session;
  }

  finish(by: EndedBy): void {
    if (this.failure !== undefined) return this.fail(this.failure.error);
    clearTimeout(this.timer);
    const outcome = this.limit ?? (by === "handled" ? "done" : this.outcomeTracker.outcome());
    const confirmed = this.confirmed && this.tracker.isCertain && by !== "idle";
    this.#resolve({ by, last: this.last, confirmed, outcome });
    this.events.close(outcome instanceof Error ? outcome : undefined);
  }

  /**
   * Ends the run with a failure. A rejection after the start of its work is the reason of a failed run,
   * unless a document names another reason.
   */
  fail(error: unknown): void {
    clearTimeout(this.timer);
    if (this.limit !== undefined && error instanceof RefusedError) return this.finish("answer");
    if (this.failure === undefined && error instanceof RefusedError && error.failure === undefined && this.tracker.hasStarted) {
      this.outcomeTracker.reject(error.message, error.code === undefined ? undefined : String(error.code));
      return this.finish("answer");
    }
    this.#reject(error);
    this.events.close(error);
  }
}

/** All runs of a connection. */
export class Runs {
  readonly #connection: ConnectionCore;
  #slots: readonly RunSlot[] = [];

  constructor(connection: ConnectionCore) {
    this.#connection = connection;
  }

  /**
   * Sends a command that starts a run. The run subscribes before the command is written, so that it misses no
   * event.
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

  /** Forgets a run without a handle; its work continues. */
  forget(slot: RunSlot): void {
    clearTimeout(slot.timer);
    slot.events.unsubscribe();
    this.#remove(slot);
  }

  #remove(slot: RunSlot): void {
    this.#slots = this.#slots.filter((other) => other !== slot);
    this.#connection.removeListener(slot);
  }

  /** Returns the run that the command with that id started. */
  of(commandId: string): RunSlot | undefined {
    return this.#slots.find((slot) => slot.commandId === commandId);
  }

  /** Records a possible last event for the runs of its session. */
  recordLast(session: string | undefined, event: EventFrame): void {
    for (const slot of this.#slots) if (slot.matchesSession(session)) slot.last = event;
  }

  /** Feeds an input to all runs of a session. */
  feedAll(session: string | undefined, input: Input): void {
    for (const slot of this.#slots) if (slot.matchesSession(session)) this.feed(slot, input);
  }

  /** Feeds an input to one run and executes the resulting action. */
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
        this.#queryState(slot, input === "lost");
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

  /** Ends all runs with the reason of the termination. */
  finishAll(error: unknown): void {
    for (const slot of this.#slots) {
      this.feed(slot, "closed");
      if (this.#slots.includes(slot)) this.fail(slot, error);
    }
  }

  /** Updates the outcome of all runs of a session by an event. */
  observe(session: string | undefined, { type, spec, body }: EventFrame): void {
    for (const slot of this.#slots) {
      if (!slot.matchesSession(session)) continue;
      slot.meter?.observe(type, body);
      if (spec?.outcome !== undefined) slot.outcomeTracker.observe(spec.outcome, body);
      // A successful end without further information may belong to earlier work.
      if ((spec?.run !== "may_end" && spec?.run !== "ends") || slot.outcomeTracker.isUnsuccessful) slot.tracker.feed("heard");
    }
  }

  /** Records that the agent has acknowledged an abort in a session. */
  abortAcknowledged(session: string | undefined): void {
    for (const slot of this.#slots) if (slot.matchesSession(session)) slot.outcomeTracker.abortAcknowledged();
    this.feedAll(session, "stopped");
  }

  /**
   * Queries the state of the agent, with a time limit: a mute agent must not keep a run open forever. `isLost` is
   * `true` just after a lost line.
   */
  #queryState(slot: RunSlot, isLost: boolean): void {
    const connection = this.#connection;
    const { barrier, state = barrier } = connection.runEnd;
    // A pending query suffices, because its response follows all earlier events; but the lost line may have been it.
    if (state === undefined || connection.ended !== undefined || slot.pendingQueries > Number(isLost)) return;
    slot.pendingQueries++;
    let limit: ReturnType<typeof later>;
    const settle = (input: Input): void => {
      clearTimeout(limit);
      slot.pendingQueries--;
      // Another question may still have an answer.
      if (input === "no_state" && slot.pendingQueries > 0) return;
      slot.confirmed = input !== "no_state";
      this.feed(slot, input);
    };
    const waiter: Waiter = { resolve: (data) => settle(stateInput(data, state)), reject: () => settle("no_state") };
    clearTimeout(slot.timer);
    try {
      // The response always carries an id, because this command has no documented failure.
      const { session } = connection.spec;
      const params = session === undefined || slot.session === undefined ? {} : { [session]: slot.session };
      const id = connection.send(state.command, params, waiter, undefined, true);
      limit = later(Math.min(state.limit, connection.settings.timeout || Infinity), () =>
        connection.pending.abandon(id)?.reject(undefined),
      );
    } catch {
      settle("no_state");
    }
  }
}

function stateInput(data: JsonValue | undefined, { busy, idle }: StateCommand): Input {
  const value = typeof data === "object" && data !== null && !Array.isArray(data) ? data[busy] : undefined;
  if (idle !== undefined) return typeof value !== "string" ? "no_state" : value === idle ? "idle" : "busy";
  return value === true ? "busy" : value === false ? "idle" : "no_state";
}
