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
 * Prompts that an extension handles never start a run.
 */
export const BEGIN_WITHIN = 500;

/** Pause before the next query of an agent that is busy without visible events, in milliseconds. */
const LOOK_AGAIN = 250;

/** Maximum number of doublings of that pause after an unreadable line, because the work may take long. */
const DOUBLINGS = 4;

/** Number of unanswered state queries after an unreadable line. */
const STATE_ASKED = 3;

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
  /** A line was unreadable. It may have been the last event of the run. */
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
 * and started no run. `stopped`: an acknowledged abort, without another end in the following ten seconds.
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
  #begun = false;
  /** `true` if the agent was idle at the last query, before any work began. */
  #isIdle = false;
  /** `true` if an event of the session arrived. */
  #heard = false;
  /** `true` if the last relevant event shows that the run may be over. */
  #mayBeOver = false;
  /** Requested time since the acknowledged abort; `undefined` without one, or after new work. */
  #stopping: number | undefined;
  /** `true` if the last event may be in an unreadable line, because no readable event ended the run. */
  #isLost = false;
  /** Numbers of busy and of unanswered queries since that line. */
  #busy = 0;
  #mute = 0;

  /** Creates a tracker. The rules are replaced once the agent's revision is known. */
  constructor(public rules: RunEnd) {}

  /** `true` if work of the run was seen. */
  get hasBegun(): boolean {
    return this.#begun;
  }

  /** `true` if the agent confirmed the end. False if the connection ended before the confirmation. */
  isCertain = true;

  /** Processes an input and returns the next action. */
  feed(input: Input): Action {
    if (this.#phase === "over") return undefined;
    switch (input) {
      case "answered":
        this.#answered = true;
        if (this.rules.answerEnds) return this.#end("answer");
        return this.#phase === "waiting" && this.rules.barrier ? this.#later(BEGIN_WITHIN) : undefined;
      case "begins":
      case "holds":
        this.#begun = true;
        this.#mayBeOver = this.#isLost = false;
        this.#stopping = undefined;
        this.#phase = "running";
        return undefined;
      case "heard":
        this.#heard = true;
        return undefined;
      case "may_end":
        // An end before the start belongs to earlier work.
        return this.#begun ? this.#mayEnd() : undefined;
      case "replaced":
        return this.#mayEnd();
      case "ends":
        // Without a barrier, a queued prompt joins the work that began earlier.
        return this.#begun || (this.rules.barrier === undefined && this.#answered && this.#heard) ? this.#end("event") : undefined;
      case "stopped":
        return this.#stop();
      case "closed":
        // No further event arrives. Only an earlier state response can have confirmed the end.
        if (!this.#mayBeOver || !(this.#answered || this.rules.answerEnds)) return undefined;
        this.isCertain = this.#phase === "gap";
        return this.#end("event");
      case "lost":
        if (!(this.rules.state ?? this.rules.barrier)) return undefined;
        // The response that ends such a run is not in the line of its last event.
        this.#isLost = !this.#mayBeOver || this.rules.answerEnds;
        this.#busy = this.#mute = 0;
        return this.#ask();
      case "busy":
        if (this.#phase !== "asking") return undefined;
        this.#isIdle = false;
        return this.#lookAgain();
      case "no_state":
        if (this.#phase === "asking" && this.#isLost && ++this.#mute < STATE_ASKED) return this.#lookAgain();
        return this.#phase === "asking" ? this.#wait() : undefined;
      case "idle":
        return this.#phase === "asking" ? this.#wait() : undefined;
      case "elapsed":
        if (this.#phase === "gap") return this.#over();
        if (this.#stopping !== undefined && (this.#phase === "waiting" || this.#phase === "running")) {
          return this.rules.barrier === undefined ? this.#giveUp() : this.#ask();
        }
        return this.#phase === "waiting" && (this.#answered || this.#isLost) ? this.#ask() : undefined;
    }
  }

  #mayEnd(): Action {
    this.#mayBeOver = true;
    if (this.rules.answerEnds) return undefined;
    this.#begun = true;
    this.#isLost = false;
    return this.rules.barrier ? this.#ask() : this.#wait();
  }

  /** Schedules another query while work continues. */
  #lookAgain(): Action {
    if (this.#stopping !== undefined) {
      if (this.#stopping >= STOP_WITHIN) return this.#giveUp();
      this.#stopping += LOOK_AGAIN;
    }
    const doublings = this.#isLost && this.#stopping === undefined ? this.#busy : 0;
    this.#busy = Math.min(DOUBLINGS, this.#busy + 1);
    return this.#later(LOOK_AGAIN * 2 ** doublings);
  }

  #stop(): Action {
    // A prompt without a response is not a run yet.
    if (!this.#answered && !this.rules.answerEnds) return undefined;
    this.#stopping = 0;
    if (this.#phase !== "waiting" && this.#phase !== "running") return undefined;
    return { want: "wake", after: this.rules.barrier ? BEGIN_WITHIN : STOP_WITHIN };
  }

  #giveUp(): Action {
    this.isCertain = false;
    return this.#end("stopped");
  }

  #over(): Action {
    return this.#end(this.#isLost ? "idle" : this.#begun ? "event" : "handled");
  }

  #later(after: number): Action {
    this.#phase = "waiting";
    return { want: "wake", after };
  }

  #ask(): Action {
    this.#phase = "asking";
    return { want: "state" };
  }

  #wait(): Action {
    // An idle agent without a response to the prompt means that the end belongs to earlier work, unless the
    // response is the end.
    if (!this.#answered && !(this.#isLost && this.rules.answerEnds)) {
      this.#phase = "waiting";
      this.#begun = false;
      this.#mayBeOver = false;
      return undefined;
    }
    // Work may still begin, for example after an extension or a token request, so the state is queried twice.
    if (!this.#begun && !this.#isIdle) {
      this.#isIdle = true;
      return this.#later(BEGIN_WITHIN);
    }
    if (this.rules.gap === 0) return this.#over();
    this.#phase = "gap";
    return { want: "wake", after: this.rules.gap };
  }

  #end(by: EndedBy): Action {
    this.#phase = "over";
    return { want: "end", by };
  }
}
