/** Run of an agent, independent of its dialect. */

import type { RunFailedError } from "../error.js";
import type { Run } from "../run.js";
import type { EndedBy } from "../run_tracker.js";
import type { AnyTypes } from "../spec.js";
import type { Conversation, Message } from "../ui.js";
import type { Channel } from "./channel.js";
import type { AnyEvent } from "./event.js";
import type { Results } from "./results.js";

/** Result of a run. */
export interface AnyResult {
  readonly endedBy: EndedBy;
  /** `true` if it is certain that no further event follows. */
  readonly confirmed: boolean;
  /** Last message of the model, with usage, stop reason and error if present. */
  readonly message: Message | undefined;
  /** Text of that message. */
  readonly text: string;
  /** `true` if the run was aborted, by any client. An abort is not a failure. */
  readonly aborted: boolean;
  /** Reason of a failed run; only results of `wait` can have one. */
  readonly failure: RunFailedError | undefined;
}

/** Run as a stream of its events, including retries and compactions. Only one loop can read it. */
export class AnyRun implements AsyncIterable<AnyEvent> {
  /** Run of the typed client. */
  readonly run: Run<AnyTypes>;
  /** Outcome of the prompt, from the agent's response. */
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

  /** Returns the events. After the last one, the iterator throws the failure of the run, if any. */
  [Symbol.asyncIterator](): AsyncIterableIterator<AnyEvent> {
    return this.#events;
  }

  /**
   * Waits for the end of the run, whether or not its events are read.
   *
   * @throws RunFailedError The model request failed after all retries of the agent.
   * @throws RefusedError The agent rejected the prompt after its acceptance.
   * @throws Termination The connection ended first.
   */
  async result(): Promise<AnyResult> {
    const result = await this.#ended;
    if (result.failure !== undefined) throw result.failure;
    return result;
  }

  /**
   * Waits for the end of the run like `result`, but returns a failed run as a result.
   *
   * @throws RefusedError The agent rejected the prompt after its acceptance.
   * @throws Termination The connection ended first.
   */
  wait(): Promise<AnyResult> {
    return this.#ended;
  }
}
