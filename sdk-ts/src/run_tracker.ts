/**
 * Detection of the end of a run: a state machine without I/O, driven by the connection.
 *
 * The last event of a run is not always final: a retry, a compaction, a rule or a reminder may restart the
 * run. After a possible end, the tracker queries the state of the agent. The response follows all earlier
 * frames. If the response reports an idle agent, no event follows, or only within the dialect's declared gap.
 */

import type { RunEnd } from "./spec.js";

/**
 * Time limit for the start of an accepted prompt, in milliseconds. Afterwards the tracker queries the state.
 * A prompt that an extension handles never starts a run.
 */
export const START_WITHIN = 500;

/** Pause before the next query of an agent that is busy without visible events, in milliseconds. */
const POLL_INTERVAL = 250;

/** Maximum number of doublings of that pause after an unreadable line, since a run may last long. */
const DOUBLINGS = 4;

/** Maximum number of unanswered state queries after an unreadable line. */
const MAX_STATE_QUERIES = 3;

/**
 * Time limit of a run without new work after an acknowledged abort, in milliseconds. Then the run is over.
 */
export const STOP_WITHIN = 10_000;

/** Input of the tracker. */
export type Input =
  /** The command that starts the run was answered with success. */
  | "answered"
  /** An event shows that work continues. */
  | "begins"
  /** An event shows that the run is not over. */
  | "holds"
  /** An event shows that the run may be over. */
  | "may_end"
  /** An event shows that the run is over. */
  | "ends"
  /** A line was unreadable; it may have held the last event of the run. */
  | "lost"
  /** Another event of the session arrived. */
  | "heard"
  /** The agent acknowledged an abort of the run. */
  | "stopped"
  /** Other work replaced the run, or the prompt had no effect: the run may be over. */
  | "replaced"
  /** The connection ended. */
  | "closed"
  /** The queried state shows that work continues. */
  | "busy"
  /** The queried state shows that the agent is idle. */
  | "idle"
  /** The query of the state had no usable response. */
  | "no_state"
  /** The requested time passed. */
  | "elapsed";

/**
 * Cause of the end of a run.
 *
 * `event`: its last event. `answer`: the response to its command. `handled`: the agent accepted the prompt
 * and started no run. `stopped`: the agent acknowledged an abort and sent no other end within ten seconds.
 * `idle`: the agent is idle, and an unreadable line may have held the last event.
 */
export type EndedBy = "event" | "answer" | "handled" | "stopped" | "idle";

/**
 * Action that the tracker requests: a query of the state, a wake-up after some time, or the end. A new
 * wake-up replaces the previous one.
 */
export type Action =
  | undefined
  | { readonly want: "state" }
  | { readonly want: "wake"; readonly after: number }
  | { readonly want: "end"; readonly by: EndedBy };

/** Tracker of one run. */
export class RunTracker {
  #phase: "waiting" | "running" | "asking" | "gap" | "over" = "waiting";
  #answered = false;
  #hasStarted = false;
  /** `true` if the agent was idle at the last query, before any work began. */
  #isIdle = false;
  /** `true` if an event of the session arrived. */
  #hasEvent = false;
  /** `true` if the last event about the run means that the run may be over. */
  #mayBeEnded = false;
  /** Time in milliseconds since the acknowledged abort; `undefined` without an abort, or after new work. */
  #stopping: number | undefined;
  /** `true` if an unreadable line may hold the last event, because no readable event ended the run. */
  #isLost = false;
  /** Number of busy responses since that line; the next field counts unanswered queries. */
  #busyQueries = 0;
  #failedQueries = 0;

  /** Creates a tracker. The rules are replaced once the agent's revision is known. */
  constructor(public rules: RunEnd) {}

  /** `true` if an event has shown that the run started. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /**
   * `true` if the agent confirmed the end; `false` if the connection ended first, or if the wait after an
   * abort ended the run.
   */
  isCertain = true;

  /** Processes an input and returns the next action. */
  feed(input: Input): Action {
    if (this.#phase === "over") return undefined;
    switch (input) {
      case "answered":
        this.#answered = true;
        if (this.rules.answerEnds) return this.#end("answer");
        return this.#phase === "waiting" && this.rules.barrier ? this.#wakeAfter(START_WITHIN) : undefined;
      case "begins":
      case "holds":
        this.#hasStarted = true;
        this.#mayBeEnded = this.#isLost = false;
        this.#stopping = undefined;
        this.#phase = "running";
        return undefined;
      case "heard":
        this.#hasEvent = true;
        return undefined;
      case "may_end":
        // An end before the start of this run belongs to earlier work.
        return this.#hasStarted ? this.#mayEnd() : undefined;
      case "replaced":
        return this.#mayEnd();
      case "ends":
        // Without a barrier, a queued prompt joins the work that began earlier.
        return this.#hasStarted || (this.rules.barrier === undefined && this.#answered && this.#hasEvent) ? this.#end("event") : undefined;
      case "stopped":
        return this.#stop();
      case "closed":
        // No further event arrives. Only an earlier state response can have confirmed the end.
        if (!this.#mayBeEnded || !(this.#answered || this.rules.answerEnds)) return undefined;
        this.isCertain = this.#phase === "gap";
        return this.#end("event");
      case "lost":
        if (!(this.rules.state ?? this.rules.barrier)) return undefined;
        // After the last event, the unreadable line cannot hold it, but may hold the response that ends the
        // run.
        this.#isLost = !this.#mayBeEnded || this.rules.answerEnds;
        this.#busyQueries = this.#failedQueries = 0;
        return this.#queryState();
      case "busy":
        if (this.#phase !== "asking") return undefined;
        this.#isIdle = false;
        return this.#scheduleQuery();
      case "no_state":
        if (this.#phase === "asking" && this.#isLost && ++this.#failedQueries < MAX_STATE_QUERIES) return this.#scheduleQuery();
        return this.#phase === "asking" ? this.#confirmIdle() : undefined;
      case "idle":
        return this.#phase === "asking" ? this.#confirmIdle() : undefined;
      case "elapsed":
        if (this.#phase === "gap") return this.#endConfirmed();
        if (this.#stopping !== undefined && (this.#phase === "waiting" || this.#phase === "running")) {
          return this.rules.barrier === undefined ? this.#endAborted() : this.#queryState();
        }
        return this.#phase === "waiting" && (this.#answered || this.#isLost) ? this.#queryState() : undefined;
    }
  }

  #mayEnd(): Action {
    this.#mayBeEnded = true;
    if (this.rules.answerEnds) return undefined;
    this.#hasStarted = true;
    this.#isLost = false;
    return this.rules.barrier ? this.#queryState() : this.#confirmIdle();
  }

  /** Schedules another query while work continues. */
  #scheduleQuery(): Action {
    if (this.#stopping !== undefined) {
      if (this.#stopping >= STOP_WITHIN) return this.#endAborted();
      this.#stopping += POLL_INTERVAL;
    }
    const doublings = this.#isLost && this.#stopping === undefined ? this.#busyQueries : 0;
    this.#busyQueries = Math.min(DOUBLINGS, this.#busyQueries + 1);
    return this.#wakeAfter(POLL_INTERVAL * 2 ** doublings);
  }

  #stop(): Action {
    // A prompt without a response has not started a run yet.
    if (!this.#answered && !this.rules.answerEnds) return undefined;
    this.#stopping = 0;
    if (this.#phase !== "waiting" && this.#phase !== "running") return undefined;
    return { want: "wake", after: this.rules.barrier ? START_WITHIN : STOP_WITHIN };
  }

  #endAborted(): Action {
    this.isCertain = false;
    return this.#end("stopped");
  }

  #endConfirmed(): Action {
    return this.#end(this.#isLost ? "idle" : this.#hasStarted ? "event" : "handled");
  }

  #wakeAfter(after: number): Action {
    this.#phase = "waiting";
    return { want: "wake", after };
  }

  #queryState(): Action {
    this.#phase = "asking";
    return { want: "state" };
  }

  #confirmIdle(): Action {
    // If the agent is idle before it responded to the prompt, the end belongs to earlier work, unless the
    // response itself ends the run.
    if (!this.#answered && !(this.#isLost && this.rules.answerEnds)) {
      this.#phase = "waiting";
      this.#hasStarted = false;
      this.#mayBeEnded = false;
      return undefined;
    }
    // Work may still begin, for example after an extension or a token request, so the state is queried twice.
    if (!this.#hasStarted && !this.#isIdle) {
      this.#isIdle = true;
      return this.#wakeAfter(START_WITHIN);
    }
    if (this.rules.gap === 0) return this.#endConfirmed();
    this.#phase = "gap";
    return { want: "wake", after: this.rules.gap };
  }

  #end(by: EndedBy): Action {
    this.#phase = "over";
    return { want: "end", by };
  }
}
