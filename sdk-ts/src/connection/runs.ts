/** Runs that a client has started and whose end it awaits. */

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
  /** `false` if the agent did not confirm the end within the time limit. */
  readonly confirmed: boolean;
  /** Outcome of the run. */
  readonly outcome: RunOutcome;
}

/** State of a run in progress. */
export class RunSlot {
  readonly tracker: RunTracker;
  /** Tracker of the outcome so far. */
  readonly outcomeTracker = new OutcomeTracker();
  readonly ended: Promise<RunCompletion>;
  last: EventFrame | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Error with which the run ends after its signal was aborted. */
  failure: { readonly error: unknown } | undefined;
  /** Meter of the run's usage, if the run has limits. */
  meter: Meter | undefined;
  /** Error for the limit that the run has reached. */
  limit: RunFailedError | undefined;
  /** Number of state queries without a response. */
  pendingQueries = 0;
  /** `true` if the last state query was answered, or if no query was sent. */
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
    // The caller may ignore the result, so a rejection must not be reported as unhandled.
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
   * Ends the run with a failure. If the agent rejects the prompt after the run has started, the rejection is
   * the reason of the failed run, unless the declaration names another reason.
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

  /** Removes a run that no caller holds; its work continues at the agent. */
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

  /** Records an event that may be the last one, for all runs of its session. */
  recordLast(session: string | undefined, event: EventFrame): void {
    for (const slot of this.#slots) if (slot.matchesSession(session)) slot.last = event;
  }

  /** Passes an input to the trackers of all runs of a session. */
  feedAll(session: string | undefined, input: Input): void {
    for (const slot of this.#slots) if (slot.matchesSession(session)) this.feed(slot, input);
  }

  /** Passes an input to the tracker of one run, and executes the resulting action. */
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

  /** Ends all runs with the given error, because the connection has ended. */
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
      // An end that reports only success may belong to earlier work.
      if ((spec?.run !== "may_end" && spec?.run !== "ends") || slot.outcomeTracker.isUnsuccessful) slot.tracker.feed("heard");
    }
  }

  /** Records that the agent has acknowledged an abort in a session. */
  abortAcknowledged(session: string | undefined): void {
    for (const slot of this.#slots) if (slot.matchesSession(session)) slot.outcomeTracker.abortAcknowledged();
    this.feedAll(session, "stopped");
  }

  /**
   * Queries the state of the agent, with a time limit, so that a silent agent does not keep a run open
   * forever. `isLost` is `true` directly after an unreadable line.
   */
  #queryState(slot: RunSlot, isLost: boolean): void {
    const connection = this.#connection;
    const { barrier, state = barrier } = connection.runEnd;
    // A single pending query suffices, because its response follows all earlier events. Only the unreadable
    // line may have been that response.
    if (state === undefined || connection.ended !== undefined || slot.pendingQueries > Number(isLost)) return;
    slot.pendingQueries++;
    let limit: ReturnType<typeof later>;
    const settle = (input: Input): void => {
      clearTimeout(limit);
      slot.pendingQueries--;
      // Another query may still be answered.
      if (input === "no_state" && slot.pendingQueries > 0) return;
      slot.confirmed = input !== "no_state";
      this.feed(slot, input);
    };
    const waiter: Waiter = { resolve: (data) => settle(stateInput(data, state)), reject: () => settle("no_state") };
    clearTimeout(slot.timer);
    try {
      // The response always contains an id, because this command has no documented failure.
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
