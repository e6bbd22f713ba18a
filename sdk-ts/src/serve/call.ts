/** What methods of a service send: events, questions, and the answer to their command. */

import type { JsonObject } from "../generated/types.js";
import { stringify } from "../json.js";
import { type AnyTypes, type EventOf, row } from "../spec.js";
import { within } from "../timer.js";
import { dialogLine, eventLine } from "./lines.js";
import type { Outbox } from "./outbox.js";
import type { Serving } from "./spec.js";

/** The parameters of a dialog. */
export type DialogParams<T extends AnyTypes, K extends keyof T["dialogs"]> = T["dialogs"][K] extends {
  params: infer P;
}
  ? P
  : never;

/** The answer to a dialog, where one was given. */
export type DialogAnswer<T extends AnyTypes, K extends keyof T["dialogs"]> = T["dialogs"][K] extends {
  answer: infer A;
}
  ? A | undefined
  : never;

/** Sends events and questions to the client. */
export class Emitter<T extends AnyTypes> {
  protected readonly serving: Serving<T>;
  protected readonly outbox: Outbox;
  readonly #questions: Map<string, (answer: JsonObject | undefined) => void>;

  constructor(
    serving: Serving<T>,
    outbox: Outbox,
    questions: Map<string, (answer: JsonObject | undefined) => void> = new Map(),
  ) {
    this.serving = serving;
    this.outbox = outbox;
    this.#questions = questions;
  }

  /**
   * Sends an event. Waits while a client that does not read has too much waiting for it; an event to
   * a client that is gone is dropped.
   */
  async emit(event: EventOf<T>): Promise<void> {
    // Written at once: what is changed after the call is not part of the event.
    const line = eventLine(this.serving.spec, stringify(event));
    await this.outbox.room();
    this.outbox.push(line);
  }

  /**
   * Asks a question and waits for its answer, or sends a notice. Gives nothing where the question
   * was dismissed, no answer came in time (in milliseconds), or none can come any more.
   */
  async ask<K extends keyof T["dialogs"] & string>(
    method: K,
    params: DialogParams<T, K>,
    options: { timeout?: number | undefined } = {},
  ): Promise<DialogAnswer<T, K>> {
    const nothing = undefined as DialogAnswer<T, K>;
    const { spec } = this.serving;
    const declared = row(spec.dialogs, method);
    const id = crypto.randomUUID();
    const line = dialogLine(spec, id, method, params as object);
    if (declared?.member === undefined) {
      this.outbox.push(line);
      return nothing;
    }
    let answer: JsonObject | undefined;
    const answered = new Promise<void>((resolve) => {
      this.#questions.set(id, (found) => {
        answer = found;
        resolve();
      });
    });
    this.outbox.push(line);
    if (options.timeout === undefined) await answered;
    else await within(options.timeout, answered);
    this.#questions.delete(id);
    return answer !== undefined && declared.member in answer ? (answer as DialogAnswer<T, K>) : nothing;
  }

  /** Gives an answer to the question that it belongs to. One that belongs to none (late, second, forged) is ignored. */
  settleQuestion(id: string, answer: JsonObject): void {
    this.#questions.get(id)?.(answer);
  }

  /** Nobody is there to answer any more. */
  dismissQuestions(): void {
    for (const settle of this.#questions.values()) settle(undefined);
    this.#questions.clear();
  }

  /** The emitter of one command. */
  forCall(command: string, id: string | undefined): Call<T> {
    return new Call(this.serving, this.outbox, this.#questions, command, id);
  }
}

/** One command that is being carried out. */
export class Call<T extends AnyTypes> extends Emitter<T> {
  constructor(
    serving: Serving<T>,
    outbox: Outbox,
    questions: Map<string, (answer: JsonObject | undefined) => void>,
    /** The command's wire name. */
    readonly command: string,
    /** Its id as raw JSON, where it has one. */
    readonly id: string | undefined,
  ) {
    super(serving, outbox, questions);
  }
}
