/**
 * The connection: one reader, one writer, and the table of what waits.
 *
 * Nothing here knows a dialect's types; its tables say what differs. The public face is the client.
 */

import type { Pieces } from "../chunks.js";
import { Table } from "../correlate.js";
import { NotInRevisionError, type OtherDialectError, type RefusedError, StalledError, TimedOutError } from "../error.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { Broadcast } from "../broadcast.js";
import { DEFAULT_QUEUE_BYTES, type Overflow, type Queue } from "../queue.js";
import type { EventFrame } from "../event.js";
import { type AnyTypes, type EventSpec, type RunEnd, type Spec, row } from "../spec.js";
import { otherDialect } from "../recognition.js";
import { type Contradiction, Known } from "../revision.js";
import { type Direction, SafeTap, type Tap } from "../tap.js";
import { RecentFrames, Termination } from "../termination.js";
import { EXIT_WITHIN, later, within } from "../timer.js";
import type { Transport } from "../transport.js";
import type { Validate } from "../validation.js";
import { Dialogs } from "./dialogs.js";
import { read } from "./reader.js";
import { Runs } from "./runs.js";
import { Writer, commandLine } from "./writer.js";

/** How a connection behaves. */
export interface Settings {
  readonly overflow?: Overflow | undefined;
  readonly queueBytes?: number | undefined;
  readonly maxLine?: number | undefined;
  readonly timeout?: number | undefined;
  readonly tap?: Tap | undefined;
  readonly dialogs?: object | undefined;
  readonly validate?: Validate | undefined;
  /** The name of the revision that the caller says the agent speaks. */
  readonly revision?: string | undefined;
  /** Sees whole frames as they are, in the order in which they pass. For this library alone: keys are not redacted. */
  readonly watch?: ((direction: Direction, line: string) => void) | undefined;
}

/** Who waits for an answer: exactly one of its functions is called, once. */
export interface Waiter {
  answered(data: JsonValue | undefined): void;
  failed(error: unknown): void;
}

/** Who listens: to all events, or to those of one session and those that name none. */
export interface Listener {
  readonly events: Broadcast;
  readonly session: string | undefined;
}

/** How long commands are waited for where their row says nothing, in milliseconds. */
const USUAL_TIMEOUT = 30_000;

export class Connection {
  readonly pending = new Table<Waiter>();
  readonly runs: Runs;
  readonly dialogs = new Dialogs(this);
  readonly recent = new RecentFrames();
  /** Puts frames together that come in pieces. */
  readonly pieces: Pieces | undefined;
  readonly tap: SafeTap;
  readonly writer: Writer;
  /** Resolves with the end. Never fails. */
  readonly terminated: Promise<Termination>;
  /** The end, once it is there. */
  ended: Termination | undefined;
  /** The reader waits for a subscriber that does not read. */
  isBlocked = false;
  /** The process has ended, and this side did not ask for it. */
  #exitedByItself = false;
  /** Whether the process has ended. What it wrote may not have been read yet. */
  hasExited = false;
  droppedEvents = 0;
  /** Whether a frame of the client's dialect has come. */
  isOwn = false;
  /** Why no call can be answered: the agent speaks another dialect. */
  #otherDialect: OtherDialectError | undefined;
  /** What is known of the agent's revision. */
  readonly known: Known;
  #events: ReadonlyMap<unknown, EventSpec>;
  #lastType: unknown;
  #lastSpec: EventSpec | undefined;
  #listeners: readonly Listener[] = [];
  #resolve: (end: Termination) => void = () => undefined;
  #nextId = 0;
  #closing: Promise<Termination> | undefined;

  constructor(
    readonly spec: Spec<AnyTypes>,
    readonly settings: Settings,
    readonly transport: Transport,
  ) {
    this.tap = new SafeTap(settings.tap);
    this.known = new Known(spec, settings.revision);
    this.pieces = spec.chunks?.pieces(spec.chunks, {
      diagnostic: (diagnostic) => {
        this.tap.diagnostic(diagnostic);
        // What could not be put together may have been the last event of a run.
        if (this.ended === undefined) this.runs.feedAll(undefined, "lost");
      },
    });
    this.#events = new Map(Object.entries(spec.events));
    this.#take(undefined);
    this.terminated = new Promise((resolve) => (this.#resolve = resolve));
    this.runs = new Runs(this);
    this.writer = new Writer(this, transport.writable);
    void read(this, transport);
  }

  /** What the declaration knows of an event. Most have the type of the one before, which is told without hashing it. */
  eventSpec(type: unknown): EventSpec | undefined {
    if (type === this.#lastType) return this.#lastSpec;
    this.#lastType = type;
    return (this.#lastSpec = this.#events.get(type));
  }

  /** Looks at an event, for what it says of the agent's revision. */
  lookAtEvent(type: unknown, body: object, isBare: boolean): void {
    if (!this.known.isSettled) this.#take(this.known.event(type, body, isBare));
  }

  /** Looks at a successful answer, likewise. */
  lookAtAnswer(command: string, data: JsonValue | undefined): void {
    if (!this.known.isSettled) this.#take(this.known.answer(command, data));
  }

  /** How a run ends in the agent's revision, or in the oldest where it is not known. */
  get runEnd(): RunEnd {
    return this.known.revision?.runEnd ?? this.spec.runEnd;
  }

  /** The failure of a command: where the agent does not know one that other revisions have, that it is not in its own. */
  failureOf(command: string, error: RefusedError): RefusedError | NotInRevisionError {
    const lack = error.kind === "unknown_command" ? this.known.unknown(command) : undefined;
    if (lack === undefined) return error;
    this.#take(undefined);
    return new NotInRevisionError(command, lack.revision, lack.known);
  }

  /** From here on events say what they say in the agent's revision. */
  #take(contradiction: Contradiction | undefined): void {
    const { revision } = this.known;
    if (revision !== undefined) this.#events = new Map(Object.entries({ ...this.spec.events, ...revision.events }));
    this.#lastType = undefined;
    this.#lastSpec = undefined;
    if (contradiction !== undefined) this.tap.diagnostic({ kind: "other_revision", ...contradiction });
  }

  /**
   * Looks at a frame that came before any of the client's dialect. Says whether it belongs to another one: every call and run
   * has failed then, and later calls fail, until the agent sends a frame of the client's dialect.
   */
  isOfOtherDialect(frame: JsonObject, line: string): boolean {
    const error = otherDialect(this.spec, frame, line);
    if (error === undefined) return false;
    this.#otherDialect = error;
    this.tap.diagnostic({ kind: "other_dialect", dialect: error.dialect, seen: error.seen });
    for (const waiter of this.pending.drain()) waiter.failed(error);
    this.runs.finishAll(error);
    return true;
  }

  /** The agent speaks the client's dialect; what may have come before was text that something else printed. */
  speaksOwnDialect(): void {
    this.isOwn = true;
    this.#otherDialect = undefined;
  }

  /** A stream of events, as the settings want it. */
  newStream(): Broadcast {
    const cap = this.hasExited ? Infinity : (this.settings.queueBytes ?? DEFAULT_QUEUE_BYTES);
    return new Broadcast(cap, this.settings.overflow ?? "block");
  }

  /** Listens to all events. Fails with the {@link Termination} where the connection is over. */
  subscribe(): Broadcast {
    if (this.ended !== undefined) throw this.ended;
    const events = this.newStream();
    this.addListener({ events, session: undefined });
    return events;
  }

  /** Events of its session go to that listener from now on. */
  addListener(listener: Listener): void {
    this.#listeners = [...this.#listeners.filter((other) => other.events.isSubscribed), listener];
  }

  /** The process has ended: what is left in the pipe is little, so the reader waits for nobody any more. */
  exited(): void {
    this.hasExited = true;
    this.#exitedByItself = this.#closing === undefined;
    for (const { events } of this.#listeners) for (const queue of events.queues) queue.removeLimit();
  }

  removeListener(listener: Listener): void {
    this.#listeners = this.#listeners.filter((other) => other !== listener);
  }

  /**
   * Hands an event to all who listen to its session, in a run or to all. Gives the queues that have
   * to make room for it first, where there are any.
   */
  deliver(event: EventFrame, session: string | undefined): Queue<EventFrame>[] | undefined {
    let full: Queue<EventFrame>[] | undefined;
    let delivered = false;
    for (const { events, session: own } of this.#listeners) {
      if (own !== undefined && session !== undefined && own !== session) continue;
      events.note(event);
      for (const queue of events.queues) {
        const pushed = queue.push(event);
        if (pushed === "full") (full ??= []).push(queue);
        if (pushed !== "dropped") delivered = true;
      }
    }
    if (!delivered) this.droppedEvents++;
    return full;
  }

  /** Lets subscribers take what they have, for one turn of the event loop at most. */
  breathe(): Promise<unknown> | undefined {
    let waits: Promise<void>[] | undefined;
    for (const { events } of this.#listeners) {
      for (const queue of events.queues) {
        const idle = queue.idle();
        if (idle !== undefined) (waits ??= []).push(idle);
      }
    }
    return waits && within(0, Promise.all(waits));
  }

  /**
   * Registers a call and sends it; who waits is in the table before the line is on its way. Gives the id.
   * Fails at once with the {@link Termination}, a {@link StalledError} where too much waits to be written, or a
   * {@link NotInRevisionError} where the agent's revision does not have the command.
   */
  send(
    command: string,
    params: object,
    waiter: Waiter,
    before?: (id: string) => void,
    failsWithId: boolean = this.spec.failsWithId?.includes(command) ?? false,
  ): string {
    if (this.ended !== undefined) throw this.ended;
    if (this.#otherDialect !== undefined) throw this.#otherDialect;
    const lack = this.known.lacks(command);
    if (lack !== undefined) throw new NotInRevisionError(command, lack.revision, lack.known);
    const number = ++this.#nextId;
    const id = this.spec.framing === "json-rpc" ? number : `req-${number}`;
    const line = (this.spec.lines?.write ?? commandLine)(this.spec, command, id, params, this.known);
    this.writer.admit(command);
    const member = this.spec.session;
    const stops = row(this.spec.commands, command)?.run === "stops";
    const named = stops && member !== undefined ? (params as Record<string, unknown>)[member] : undefined;
    this.pending.insert(String(id), command, waiter, failsWithId, typeof named === "string" ? named : undefined);
    before?.(String(id));
    this.writer.write(line);
    return String(id);
  }

  /**
   * Sends a command and waits for its answer. `owner` is kept alive meanwhile.
   *
   * Fails with what the agent refused, the end of the connection, a {@link TimedOutError} or
   * {@link StalledError}, or the reason of the signal.
   */
  call(
    command: string,
    params: object,
    options: { timeout?: number | undefined; signal?: AbortSignal | undefined } = {},
    owner?: object,
    send: (waiter: Waiter) => string = (waiter) => this.send(command, params, waiter),
  ): Promise<JsonValue | undefined> {
    return new Promise((resolve, reject) => {
      const { signal } = options;
      if (signal?.aborted) throw signal.reason;
      let timer: ReturnType<typeof setTimeout> | undefined;
      let held: object | undefined = owner;
      const done = (): void => {
        held = void held;
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      const waiter: Waiter = {
        answered: (data) => {
          done();
          resolve(data);
        },
        failed: (error) => {
          done();
          reject(error);
        },
      };
      const onAbort = (): void => giveUp(signal?.reason);
      const id = send(waiter);
      const giveUp = (error: unknown): void => {
        this.pending.abandon(id)?.failed(error);
      };
      signal?.addEventListener("abort", onAbort);
      const after = this.timeout(command, options.timeout);
      timer = later(after, () => {
        const Kind = this.isBlocked ? StalledError : TimedOutError;
        giveUp(new Kind(command, after, row(this.spec.commands, command)?.reads === true));
      });
    });
  }

  /** How long a command is waited for, in milliseconds; 0 is without a limit. */
  timeout(command: string, asked?: number): number {
    const declared = row(this.spec.commands, command);
    // Of what is not declared nothing is known.
    const limit = declared === undefined ? 0 : (declared.timeout ?? USUAL_TIMEOUT);
    return asked ?? this.settings.timeout ?? limit;
  }

  /** Settles everything that waits with one value; the first one stays. Gives that value. */
  settle(reason: Termination["reason"], facts: { exit?: Termination["exit"]; cause?: unknown } = {}): Termination {
    if (this.ended !== undefined) return this.ended;
    const end = new Termination(reason, {
      ...facts,
      isClosedByUs: this.#closing !== undefined && !this.#exitedByItself,
      lastFrames: this.recent.take(),
      pending: this.pending.ids(),
    });
    this.ended = end;
    // Runs first: that the state of the agent is not coming says less than the end does.
    this.runs.finishAll(end);
    for (const waiter of this.pending.drain()) waiter.failed(end);
    this.dialogs.settle(end);
    // Who closes the connection knows that it ends: a loop over its events ends without a failure.
    // Ended streams stay in the list: what comes for them now is counted as dropped.
    for (const { events } of this.#listeners) events.close(this.#closing === undefined ? end : undefined);
    this.writer.settle(end);
    this.#resolve(end);
    return end;
  }

  /** Closes the agent's input, waits for the end of its process, where there is one, and settles everything. */
  close(): Promise<Termination> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<Termination> {
    const { child } = this.transport;
    if (child === undefined) {
      if (this.ended === undefined) await this.writer.finish();
      return this.settle("closed");
    }
    this.writer.end();
    const exit = await child.shutdown();
    // The reader settles everything when it has read the rest.
    await within(EXIT_WITHIN, this.terminated);
    return this.settle("exited", { exit });
  }
}
