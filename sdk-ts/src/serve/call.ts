/** What methods of a service send: events, questions, and the answer to their command. */

import type { JsonObject } from "../generated/types.js";
import { glance } from "../glance.js";
import { stringify } from "../json.js";
import { type AnyTypes, type DataOf, type EventOf, isAnswer, row } from "../spec.js";
import { pause, within } from "../timer.js";
import { dialogLine, eventLine } from "./lines.js";
import type { Outbox } from "./outbox.js";
import type { Serving } from "./spec.js";

/** The parameters of a dialog. */
export type DialogParams<T extends AnyTypes, K extends keyof T["dialogs"]> = T["dialogs"][K]["params"];

/** The answer to a dialog, where one was given. */
export type DialogAnswer<T extends AnyTypes, K extends keyof T["dialogs"]> = T["dialogs"][K]["answer"] | undefined;

/** The value of a member as it stands in a line; none where it is no JSON. */
function unquoted(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}

/** The questions that wait for their answers, by id. */
type Questions = Map<string, (answer: JsonObject | undefined) => void>;

/** Sends events and questions to the client. */
export class Emitter<T extends AnyTypes> {
  protected readonly serving: Serving<T>;
  protected readonly outbox: Outbox;
  readonly #questions: Questions;

  constructor(serving: Serving<T>, outbox: Outbox, questions: Questions = new Map()) {
    this.serving = serving;
    this.outbox = outbox;
    this.#questions = questions;
  }

  /**
   * Sends an event. Resolves when there is room for more: a client that does not read makes this wait. An event to
   * a client that is gone is dropped.
   */
  async emit(event: EventOf<T>): Promise<void> {
    // Written at once: what is changed after the call is not part of the event.
    await this.sendEvent(eventLine(this.serving.spec, stringify(event)));
  }

  /**
   * Asks a question and waits for its answer, or sends a notice. Gives `undefined` where the question was
   * dismissed, no answer came within `timeout` milliseconds, or none can come any more.
   */
  async ask<K extends keyof T["dialogs"] & string>(
    method: K,
    params: DialogParams<T, K>,
    options: { timeout?: number | undefined } = {},
  ): Promise<DialogAnswer<T, K>> {
    const { spec } = this.serving;
    const declared = row(spec.dialogs, method);
    const id = crypto.randomUUID();
    const line = dialogLine(spec, id, method, params);
    if (declared?.member === undefined) {
      this.sendNotice(line);
      return undefined;
    }
    await this.beforeQuestion();
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
    return answer !== undefined && declared.member in answer ? (answer as DialogAnswer<T, K>) : undefined;
  }

  /** Gives an answer to the question that it belongs to. One that belongs to none (late, second, forged) is ignored. */
  settleQuestion(id: string, answer: JsonObject): void {
    this.#questions.get(id)?.(answer);
  }

  /**
   * Fails the question that a line answers which cannot be read. `text` is the line, or its beginning where it was skipped for
   * its length. Only the line's own `id` names a question, never one that it quotes. A skipped line whose own id is not in its
   * beginning fails the question that has waited longest, unless it names a command or another id.
   */
  failQuestion(text: string, isSkipped: boolean): void {
    if (!/^\s*\{/.test(text)) return;
    const { spec } = this.serving;
    const { id, type, method } = glance(text);
    if (spec.framing === "json-rpc" ? method !== undefined : type !== undefined && !isAnswer(spec, unquoted(type))) return;
    const key = id !== undefined ? unquoted(id) : isSkipped ? [...this.#questions.keys()][0] : undefined;
    if (typeof key === "string") this.#questions.get(key)?.(undefined);
  }

  /** Nobody is there to answer any more. */
  dismissQuestions(): void {
    for (const settle of this.#questions.values()) settle(undefined);
    this.#questions.clear();
  }

  /** The emitter of one command, whose answer is written by `respond`. */
  forCall(command: string, id: string | undefined, respond: (data: unknown) => void): Call<T> {
    return new Call(this.serving, this.outbox, this.#questions, command, id, respond);
  }

  protected async sendEvent(line: string): Promise<void> {
    await this.outbox.room();
    this.outbox.push(line);
  }

  protected sendNotice(line: string): void {
    this.outbox.push(line);
  }

  protected async beforeQuestion(): Promise<void> {}
}

/**
 * One command that is being carried out.
 *
 * Where a command is answered before its work is done (as `prompt` of pi), its events and notices wait for the answer:
 * no client sees them before it. A method that does the work itself calls `answer` first, or its events come late.
 * Questions do not wait for an answer that their own outcome decides.
 */
export class Call<T extends AnyTypes, K extends keyof T["commands"] = keyof T["commands"]> extends Emitter<T> {
  /** The command's wire name. */
  readonly command: string;
  /** Its id as raw JSON, where it has one. */
  readonly id: string | undefined;
  readonly #respond: (data: unknown) => void;
  #isAnswered = false;
  /** What waits for the answer, and how long it is; none where nothing has to wait. */
  #held: string[] | undefined;
  #heldLength = 0;

  constructor(
    serving: Serving<T>,
    outbox: Outbox,
    questions: Questions,
    command: string,
    id: string | undefined,
    respond: (data: unknown) => void,
  ) {
    super(serving, outbox, questions);
    this.command = command;
    this.id = id;
    this.#respond = respond;
    if (row(serving.spec.commands, command)?.answer === "accepted") this.#held = [];
  }

  /** Whether the answer was sent. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /**
   * Answers the command now, for a method that goes on working: what it gives later is not sent. A second answer is
   * not sent either. A failure after the answer is sent only in dialects that have late failures (omp, pisces).
   */
  answer(...[data]: undefined extends DataOf<T, K> ? [data?: DataOf<T, K>] : [data: DataOf<T, K>]): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#respond(data);
    this.release();
  }

  /** Sends what waits for the answer. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const line of held) this.outbox.push(line);
  }

  protected override async sendEvent(line: string): Promise<void> {
    if (!this.#holds(line)) await super.sendEvent(line);
  }

  protected override sendNotice(line: string): void {
    if (!this.#holds(line)) super.sendNotice(line);
  }

  #holds(line: string): boolean {
    this.#heldLength += line.length;
    // A method that sends this much and never answers must not fill the memory.
    if (this.#heldLength > this.outbox.cap) this.release();
    this.#held?.push(line);
    return this.#held !== undefined;
  }

  /** Work that was begun beside the answer asks after it; a method that asks before it answers waits for one turn. */
  protected override async beforeQuestion(): Promise<void> {
    if (this.#held !== undefined) await pause(0);
  }
}
