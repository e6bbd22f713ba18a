/**
 * When a run is over: a state machine without I/O, fed by the connection.
 *
 * The last event of a run is not always the last: a retry, a compaction, a rule or a reminder may
 * start it again. After an event that may be the end the tracker asks for the agent's state: the
 * answer comes after everything that was sent before it, so where it says idle, nothing follows
 * (or only within the dialect's declared gap).
 */

import type { RunEnd } from "./spec.js";

/**
 * How long an accepted prompt may take to begin before its run is looked for, in milliseconds.
 * Prompts that an extension handles never begin one.
 */
export const BEGIN_WITHIN = 500;

/** How soon an agent that says it is busy, and shows nothing of it, is asked again, in milliseconds. */
const LOOK_AGAIN = 250;

/** What the tracker is told. */
export type Input =
  /** The command that starts the run was answered with success. */
  | "answered"
  /** An event says that work goes on. */
  | "begins"
  /** An event says that the run is not over. */
  | "holds"
  /** An event says that the run may be over. */
  | "may_end"
  /** An event says that the run is over. */
  | "ends"
  /** The state was asked for, and says that work goes on. */
  | "busy"
  /** The state was asked for, and says that the agent is idle. */
  | "idle"
  /** The state was asked for, and the answer is of no use. */
  | "no_state"
  /** The time asked for has passed. */
  | "elapsed";

/** What ended a run: its last event, the answer to its command, or the agent took the prompt and started none. */
export type EndedBy = "event" | "answer" | "handled";

/** What the tracker wants: the agent's state, to be told when time has passed (earlier wishes are void), or the end. */
export type Action =
  | undefined
  | { readonly want: "state" }
  | { readonly want: "wake"; readonly after: number }
  | { readonly want: "end"; readonly by: EndedBy };

/** Follows one run. */
export class RunTracker {
  #phase: "waiting" | "running" | "asking" | "gap" | "over" = "waiting";
  #answered = false;
  #begun = false;
  /** Whether the agent was idle when it was last asked, before anything began. */
  #isIdle = false;

  /** The rules are those of the agent's revision as soon as it is known. */
  constructor(public rules: RunEnd) {}

  /** Takes an input and says what to do. */
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
        this.#phase = "running";
        return undefined;
      case "may_end":
        if (this.rules.answerEnds) return undefined;
        this.#begun = true;
        return this.rules.barrier ? this.#ask() : this.#wait();
      case "ends":
        // An end that comes before our prompt was answered or began belongs to earlier work.
        return this.#answered || this.#begun ? this.#end("event") : undefined;
      case "busy":
        if (this.#phase !== "asking") return undefined;
        // Work goes on: look again later, whether something is seen of it or not.
        this.#isIdle = false;
        return this.#later(LOOK_AGAIN);
      case "idle":
      case "no_state":
        return this.#phase === "asking" ? this.#wait() : undefined;
      case "elapsed":
        if (this.#phase === "gap") return this.#end(this.#begun ? "event" : "handled");
        return this.#phase === "waiting" && this.#answered ? this.#ask() : undefined;
    }
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
    // An idle agent with our prompt unanswered means that the end belongs to earlier work.
    if (!this.#answered) {
      this.#phase = "waiting";
      this.#begun = false;
      return undefined;
    }
    // What has not begun may still begin (an extension, a token that is fetched): it is looked at twice.
    if (!this.#begun && !this.#isIdle) {
      this.#isIdle = true;
      return this.#later(BEGIN_WITHIN);
    }
    if (this.rules.gap === 0) return this.#end(this.#begun ? "event" : "handled");
    this.#phase = "gap";
    return { want: "wake", after: this.rules.gap };
  }

  #end(by: EndedBy): Action {
    this.#phase = "over";
    return { want: "end", by };
  }
}
