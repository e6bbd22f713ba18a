/** The work that a prompt started, in a form that no dialect has. */

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
    this.#ended = run.result().then(({ endedBy, confirmed }) => {
      const message = conversation().messages.findLast(({ role }) => role === "assistant");
      const text = (message?.blocks ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
      return { endedBy, confirmed, message, text };
    });
    this.#ended.then(
      () => events.end(),
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
   * @throws RefusedError The agent refused the prompt after all.
   * @throws Termination The connection ended first.
   */
  result(): Promise<AnyResult> {
    return this.#ended;
  }
}
