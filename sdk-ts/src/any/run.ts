/** The work that a prompt started, in a form that no dialect has. */

import type { RunFailedError } from "../error.js";
import type { Run } from "../run.js";
import type { EndedBy } from "../run_tracker.js";
import type { AnyTypes } from "../spec.js";
import type { Conversation, Message } from "../ui.js";
import type { Channel } from "./channel.js";
import type { AnyEvent } from "./event.js";
import type { Results } from "./results.js";

/** How a run ended. */
export interface AnyResult {
  readonly endedBy: EndedBy;
  /** Whether it is certain that nothing follows. */
  readonly confirmed: boolean;
  /** The model's last message, with usage, stop reason and error where it has them. */
  readonly message: Message | undefined;
  /** Its text. */
  readonly text: string;
  /** Whether somebody stopped the run, whoever it was. That is no failure. */
  readonly aborted: boolean;
  /** Why the run failed, where it did; only `wait` gives a result with a failure. */
  readonly failure: RunFailedError | undefined;
}

/** Gives what happens until the run is over, retries and compactions among it. Can be looped over once. */
export class AnyRun implements AsyncIterable<AnyEvent> {
  /** The run of the dialect's client. */
  readonly run: Run<AnyTypes>;
  /** What the agent said that becomes of the words. */
  readonly outcome: Results["outcome"];
  readonly #events: Channel<AnyEvent>;
  readonly #ended: Promise<AnyResult>;

  constructor(run: Run<AnyTypes>, events: Channel<AnyEvent>, outcome: Results["outcome"], conversation: () => Conversation) {
    this.run = run;
    this.outcome = outcome;
    this.#events = events;
    this.#ended = run.wait().then(({ endedBy, confirmed, aborted, failure }) => {
      const message = conversation().messages.findLast(({ role }) => role === "assistant");
      const text = (message?.blocks ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
      return { endedBy, confirmed, message, text, aborted, failure };
    });
    this.#ended.then(
      ({ failure }) => events.end(failure && { error: failure }),
      (error: unknown) => events.end({ error }),
    );
  }

  /** Gives the events. Throws how the run failed, where it did. */
  [Symbol.asyncIterator](): AsyncIterableIterator<AnyEvent> {
    return this.#events;
  }

  /**
   * Waits for the end of the run, whether or not its events are read.
   *
   * @throws RunFailedError The request to the model failed, after the retries that the agent makes.
   * @throws RefusedError The agent refused the prompt after all.
   * @throws Termination The connection ended first.
   */
  async result(): Promise<AnyResult> {
    const result = await this.#ended;
    if (result.failure !== undefined) throw result.failure;
    return result;
  }

  /**
   * Waits for the end of the run as `result` does, and gives a run that failed as a result.
   *
   * @throws RefusedError The agent refused the prompt after all.
   * @throws Termination The connection ended first.
   */
  wait(): Promise<AnyResult> {
    return this.#ended;
  }
}
