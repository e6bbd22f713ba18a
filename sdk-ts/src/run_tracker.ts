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

/** How often that pause is doubled after a line that could not be read, at most: what goes on may take long. */
const DOUBLINGS = 4;

/** How often an agent that does not tell its state is asked after a line that could not be read. */
const STATE_ASKED = 3;

/**
 * How long a run may go on after the agent has acknowledged that it stops, and says of no new work since, in
 * milliseconds: then it counts as over.
 */
export const STOP_WITHIN = 10_000;

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
  /** A line could not be read, which may have been the last event of the run. */
  | "lost"
  /** Another event of its session came. */
  | "heard"
  /** The agent has acknowledged that it stops the run. */
  | "stopped"
  /** Something else has taken the place of the run, or nothing has come of the prompt: it may be over. */
  | "replaced"
  /** The connection has ended. */
  | "closed"
  /** The state was asked for, and says that work goes on. */
  | "busy"
  /** The state was asked for, and says that the agent is idle. */
  | "idle"
  /** The state was asked for, and the answer is of no use. */
  | "no_state"
  /** The time asked for has passed. */
  | "elapsed";

/**
 * What ended a run: its last event, the answer to its command, the agent took the prompt and started none, or it
 * acknowledged that it stops, and nothing ended the run in the ten seconds after that. `idle`: the agent is idle, and
 * its last event was not seen, for a line of the run could not be read.
 */
export type EndedBy = "event" | "answer" | "handled" | "stopped" | "idle";

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
  /** Whether something of the session came. */
  #heard = false;
  /** Whether its last event that says so says that it may be over. */
  #mayBeOver = false;
  /**
   * How long ago, by the times that were asked for, the agent acknowledged that it stops; `undefined` where it did not,
   * or work began after that.
   */
  #stopping: number | undefined;
  /** Whether the last event may have been in a line that could not be read: none that was read said so. */
  #isLost = false;
  /** How often the agent was busy, and did not tell its state, since that line. */
  #busy = 0;
  #mute = 0;

  /** The rules are those of the agent's revision as soon as it is known. */
  constructor(public rules: RunEnd) {}

  /** Whether something of its work was seen. */
  get hasBegun(): boolean {
    return this.#begun;
  }

  /** Whether the agent said, when the run ended, that nothing follows: false where the connection ended before it could. */
  isCertain = true;

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
        this.#mayBeOver = this.#isLost = false;
        this.#stopping = undefined;
        this.#phase = "running";
        return undefined;
      case "heard":
        this.#heard = true;
        return undefined;
      case "may_end":
        // An end before anything began belongs to earlier work.
        return this.#begun ? this.#mayEnd() : undefined;
      case "replaced":
        return this.#mayEnd();
      case "ends":
        // What was queued joins work that has begun before, where nobody can be asked what goes on.
        return this.#begun || (this.rules.barrier === undefined && this.#answered && this.#heard) ? this.#end("event") : undefined;
      case "stopped":
        return this.#stop();
      case "closed":
        // Nothing follows any more; whether something would have, only a state can have told.
        if (!this.#mayBeOver || !(this.#answered || this.rules.answerEnds)) return undefined;
        this.isCertain = this.#phase === "gap";
        return this.#end("event");
      case "lost":
        if (!(this.rules.state ?? this.rules.barrier)) return undefined;
        // The answer that ends such a run is another line than its last event.
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

  /** Work goes on: look again later, whether something is seen of it or not. */
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
    // A prompt that nobody has answered is no run yet.
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
    // An idle agent with our prompt unanswered means that the end belongs to earlier work, if the answer is not the end.
    if (!this.#answered && !(this.#isLost && this.rules.answerEnds)) {
      this.#phase = "waiting";
      this.#begun = false;
      this.#mayBeOver = false;
      return undefined;
    }
    // What has not begun may still begin (an extension, a token that is fetched): it is looked at twice.
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
