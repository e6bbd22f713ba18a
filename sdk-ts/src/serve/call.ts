/** Output of a service's methods: events, questions, and the response to the command. */

import { readHeader } from "../frame_header.js";
import type { JsonObject } from "../generated/types.js";
import { stringify } from "../json.js";
import { type AnyTypes, type DataOf, type EventOf, isAnswer, row } from "../spec.js";
import { pause, within } from "../timer.js";
import { dialogLine, eventLine } from "./lines.js";
import type { Outbox } from "./outbox.js";
import type { ServeSpec } from "./spec.js";

/** Parameters of a dialog. */
export type DialogParams<T extends AnyTypes, K extends keyof T["dialogs"]> = T["dialogs"][K]["params"];

/** Answer to a dialog; `undefined` if it is missing. */
export type DialogAnswer<T extends AnyTypes, K extends keyof T["dialogs"]> = T["dialogs"][K]["answer"] | undefined;

/** Parses the raw value of a member; `undefined` if it is not JSON. */
function parseRaw(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}

/** Open questions by id. */
type Questions = Map<string, (answer: JsonObject | undefined) => void>;

/** Sender of events and questions to the client. */
export class Emitter<T extends AnyTypes> {
  protected readonly serving: ServeSpec<T>;
  protected readonly outbox: Outbox;
  readonly #questions: Questions;

  constructor(serving: ServeSpec<T>, outbox: Outbox, questions: Questions = new Map()) {
    this.serving = serving;
    this.outbox = outbox;
    this.#questions = questions;
  }

  /**
   * Sends an event. Resolves when there is room for more, so a client that does not read delays the caller.
   * After the client has disconnected, events are dropped.
   */
  async emit(event: EventOf<T>): Promise<void> {
    // The event is encoded at once, so later changes of the object have no effect.
    await this.sendEvent(eventLine(this.serving.spec, stringify(event)));
  }

  /**
   * Sends a question and waits for its answer, or sends a notice. Returns `undefined` if the client dismissed
   * the question, no answer arrived within `timeout` milliseconds, or the client has disconnected.
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

  /** Passes an answer to its question. Late, repeated and forged answers are ignored. */
  settleQuestion(id: string, answer: JsonObject): void {
    this.#questions.get(id)?.(answer);
  }

  /**
   * Fails the question that an unreadable line answers. `text` is the line, or its beginning if the line was
   * skipped because of its length. Only the `id` of the outermost object identifies a question. If a skipped
   * line has no `id` in its beginning, the oldest open question fails, unless the line names a command or
   * another id.
   */
  failQuestion(text: string, isSkipped: boolean): void {
    if (!/^\s*\{/.test(text)) return;
    const { spec } = this.serving;
    const { id, type, method } = readHeader(text);
    if (spec.framing === "json-rpc" ? method !== undefined : type !== undefined && !isAnswer(spec, parseRaw(type))) return;
    const key = id !== undefined ? parseRaw(id) : isSkipped ? [...this.#questions.keys()][0] : undefined;
    if (typeof key === "string") this.#questions.get(key)?.(undefined);
  }

  /** Dismisses all questions after the client has disconnected. */
  dismissQuestions(): void {
    for (const settle of this.#questions.values()) settle(undefined);
    this.#questions.clear();
  }

  /** Returns the emitter for one command. `respond` writes the response to the command. */
  forCall(command: string, id: string | undefined, respond: (data: unknown) => void): Call<T> {
    return new Call(this.serving, this.outbox, this.#questions, command, id, respond);
  }

  protected async sendEvent(line: string): Promise<void> {
    await this.outbox.waitForRoom();
    this.outbox.push(line);
  }

  protected sendNotice(line: string): void {
    this.outbox.push(line);
  }

  protected async beforeQuestion(): Promise<void> {}
}

/**
 * Command in progress.
 *
 * If the response to a command precedes its work, as for `prompt` of pi, events and notices wait until the
 * response is sent. A method that does the work itself must call `answer` first, or its events are delayed.
 * Questions are never delayed, because the response may depend on their answers.
 */
export class Call<T extends AnyTypes, K extends keyof T["commands"] = keyof T["commands"]> extends Emitter<T> {
  /** Wire name of the command. */
  readonly command: string;
  /** Id of the command as raw JSON, if any. */
  readonly id: string | undefined;
  readonly #respond: (data: unknown) => void;
  #isAnswered = false;
  /** Lines that wait for the response; the next field is their length. `undefined` if lines need not wait. */
  #deferred: string[] | undefined;
  #deferredLength = 0;

  constructor(
    serving: ServeSpec<T>,
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
    if (row(serving.spec.commands, command)?.answer === "accepted") this.#deferred = [];
  }

  /** `true` if the response was sent. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /**
   * Sends the response now; the method may continue to work. A later result or a second response is not sent.
   * A failure after the response is sent only in dialects with late failures (omp, pisces).
   */
  answer(...[data]: undefined extends DataOf<T, K> ? [data?: DataOf<T, K>] : [data: DataOf<T, K>]): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#respond(data);
    this.release();
  }

  /** Sends the lines that wait for the response. */
  release(): void {
    const deferred = this.#deferred ?? [];
    this.#deferred = undefined;
    for (const line of deferred) this.outbox.push(line);
  }

  protected override async sendEvent(line: string): Promise<void> {
    if (!this.#defer(line)) await super.sendEvent(line);
  }

  protected override sendNotice(line: string): void {
    if (!this.#defer(line)) super.sendNotice(line);
  }

  #defer(line: string): boolean {
    this.#deferredLength += line.length;
    // A method that sends much output and no response must not exhaust the memory.
    if (this.#deferredLength > this.outbox.cap) this.release();
    this.#deferred?.push(line);
    return this.#deferred !== undefined;
  }

  /**
   * Delays a question before the response by one turn of the event loop, so that a response sent at the same
   * time precedes it.
   */
  protected override async beforeQuestion(): Promise<void> {
    if (this.#deferred !== undefined) await pause(0);
  }
}
