/**
 * Connection: one reader, one writer, and the table of pending calls. Its creator starts the reader.
 *
 * This module uses no types of a dialect, because tables describe the differences. The client is its public
 * interface.
 */

import { PendingCalls } from "../correlate.js";
import { NotInRevisionError, type OtherDialectError, type RefusedError, StalledError, TimedOutError } from "../error.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { Broadcast } from "../broadcast.js";
import { DEFAULT_QUEUE_BYTES, type Queue } from "../queue.js";
import type { EventFrame } from "../event.js";
import { type AnyTypes, type EventSpec, type FrameAssembler, type RunEnd, type Spec, row } from "../spec.js";
import { otherDialect } from "../recognition.js";
import { type Contradiction, RevisionDetector } from "../revision_detector.js";
import { SafeTap } from "../tap.js";
import { RecentFrames, Termination } from "../termination.js";
import { EXIT_WITHIN, later, within } from "../timer.js";
import type { Transport } from "../transport.js";
import type { ConnectionCore, Listener, Settings, Waiter } from "./core.js";
import { Dialogs } from "./dialogs.js";
import { Runs } from "./runs.js";
import { Writer, commandLine } from "./writer.js";

/** Time limit of commands without a declared limit, in milliseconds. */
const USUAL_TIMEOUT = 30_000;

export class Connection implements ConnectionCore {
  readonly pending = new PendingCalls<Waiter>();
  readonly runs: Runs;
  readonly dialogs = new Dialogs(this);
  readonly recent = new RecentFrames();
  /** Assembler of frames that arrive in pieces. */
  readonly assembler: FrameAssembler | undefined;
  readonly tap: SafeTap;
  readonly writer: Writer;
  /** Resolves with the termination. Never rejects. */
  readonly terminated: Promise<Termination>;
  /** Termination, after the end of the connection. */
  ended: Termination | undefined;
  /** `true` while the reader waits for a subscriber that does not read. */
  isBlocked = false;
  /** `true` if the process ended before this side closed the connection. */
  #exitedByItself = false;
  /** `true` if the process has ended. Its output may still be unread. */
  hasExited = false;
  droppedEvents = 0;
  /** `true` if a frame of the client's dialect has arrived. */
  isDialectConfirmed = false;
  /** Error with which every call fails, after a frame of another dialect arrived. */
  #otherDialect: OtherDialectError | undefined;
  /** Detector of the agent's revision. */
  readonly agentRevision: RevisionDetector;
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
    this.agentRevision = new RevisionDetector(spec, settings.revision);
    this.assembler = spec.chunks?.assembler(spec.chunks, {
      diagnostic: (diagnostic) => {
        this.tap.diagnostic(diagnostic);
        // The lost frame may have been the last event of a run.
        if (this.ended === undefined) this.runs.feedAll(undefined, "lost");
      },
    });
    this.#events = new Map(Object.entries(spec.events));
    this.#applyRevision(undefined);
    this.terminated = new Promise((resolve) => (this.#resolve = resolve));
    this.runs = new Runs(this);
    this.writer = new Writer(this, transport.writable);
  }

  /**
   * Returns the declaration of an event. Consecutive events often have the same type, so the last lookup is
   * cached.
   */
  eventSpec(type: unknown): EventSpec | undefined {
    if (type === this.#lastType) return this.#lastSpec;
    this.#lastType = type;
    return (this.#lastSpec = this.#events.get(type));
  }

  /** Narrows down the agent's revision by an event. */
  observeEvent(type: unknown, body: object, isBare: boolean): void {
    if (!this.agentRevision.isSettled) this.#applyRevision(this.agentRevision.event(type, body, isBare));
  }

  /** Narrows down the agent's revision by a successful response. */
  observeResponse(command: string, data: JsonValue | undefined): void {
    if (!this.agentRevision.isSettled) this.#applyRevision(this.agentRevision.answer(command, data));
  }

  /** Rules for the end of a run in the agent's revision, or in the oldest revision if unknown. */
  get runEnd(): RunEnd {
    return this.agentRevision.revision?.runEnd ?? this.spec.runEnd;
  }

  /**
   * Returns the error of a failed command: a {@link NotInRevisionError} if the agent does not know the
   * command but other revisions have it.
   */
  failureOf(command: string, error: RefusedError): RefusedError | NotInRevisionError {
    const missing = error.kind === "unknown_command" ? this.agentRevision.rejectedCommand(command) : undefined;
    if (missing === undefined) return error;
    this.#applyRevision(undefined);
    return new NotInRevisionError(command, missing.revision, missing.known);
  }

  /** Applies the event declarations of the agent's revision. */
  #applyRevision(contradiction: Contradiction | undefined): void {
    const { revision } = this.agentRevision;
    if (revision !== undefined) this.#events = new Map(Object.entries({ ...this.spec.events, ...revision.events }));
    this.#lastType = undefined;
    this.#lastSpec = undefined;
    if (contradiction !== undefined) this.tap.diagnostic({ kind: "other_revision", ...contradiction });
  }

  /**
   * Checks a frame that arrived before any frame of the client's dialect. Returns `true` if it belongs to
   * another dialect.
   *
   * In that case every call and run fails. Later calls fail too, until the agent sends a frame of the
   * client's dialect.
   */
  isOfOtherDialect(frame: JsonObject, line: string): boolean {
    const error = otherDialect(this.spec, frame, line);
    if (error === undefined) return false;
    this.#otherDialect = error;
    this.tap.diagnostic({ kind: "other_dialect", dialect: error.dialect, seen: error.seen });
    for (const waiter of this.pending.drain()) waiter.reject(error);
    this.runs.finishAll(error);
    return true;
  }

  /**
   * Records that the agent speaks the client's dialect. Earlier frames of another dialect were output of
   * another program.
   */
  confirmDialect(): void {
    this.isDialectConfirmed = true;
    this.#otherDialect = undefined;
  }

  /** Creates a stream of events with the settings of the connection. */
  newStream(): Broadcast {
    const cap = this.hasExited ? Infinity : (this.settings.queueBytes ?? DEFAULT_QUEUE_BYTES);
    return new Broadcast(cap, this.settings.overflow ?? "block");
  }

  /** Subscribes to all events. Fails with the {@link Termination} if the connection has ended. */
  subscribe(): Broadcast {
    if (this.ended !== undefined) throw this.ended;
    const events = this.newStream();
    this.addListener({ events, session: undefined });
    return events;
  }

  /** Adds a subscriber to the events of its session. */
  addListener(listener: Listener): void {
    this.#listeners = [...this.#listeners.filter((other) => other.events.isSubscribed), listener];
  }

  /**
   * Records the end of the process and removes the size limits of the queues. Little unread output remains,
   * so the reader need not wait for subscribers.
   */
  onProcessExit(): void {
    this.hasExited = true;
    this.#exitedByItself = this.#closing === undefined;
    for (const { events } of this.#listeners) for (const queue of events.queues) queue.removeLimit();
  }

  removeListener(listener: Listener): void {
    this.#listeners = this.#listeners.filter((other) => other !== listener);
  }

  /**
   * Delivers an event to all subscribers of its session. Returns the full queues; the event is not
   * delivered until they have room. Returns `undefined` if all queues had room.
   */
  deliver(event: EventFrame, session: string | undefined): Queue<EventFrame>[] | undefined {
    let full: Queue<EventFrame>[] | undefined;
    let delivered = false;
    for (const { events, session: own } of this.#listeners) {
      if (own !== undefined && session !== undefined && own !== session) continue;
      events.record(event);
      for (const queue of events.queues) {
        const pushed = queue.push(event);
        if (pushed === "full") (full ??= []).push(queue);
        if (pushed !== "dropped") delivered = true;
      }
    }
    if (!delivered) this.droppedEvents++;
    return full;
  }

  /** Gives subscribers up to one turn of the event loop to consume queued events. */
  yieldToSubscribers(): Promise<unknown> | undefined {
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
   * Registers a call, sends it and returns its id. The registration precedes the write.
   *
   * Fails at once with the {@link Termination}, or with a {@link StalledError} if too much output waits.
   * Fails with a {@link NotInRevisionError} if the agent's revision lacks the command.
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
    const missing = this.agentRevision.lacks(command);
    if (missing !== undefined) throw new NotInRevisionError(command, missing.revision, missing.known);
    const number = ++this.#nextId;
    const id = this.spec.framing === "json-rpc" ? number : `req-${number}`;
    const line = (this.spec.lines?.write ?? commandLine)(this.spec, command, id, params, this.agentRevision);
    this.writer.checkCapacity(command);
    const member = this.spec.session;
    const stops = row(this.spec.commands, command)?.run === "stops";
    const named = stops && member !== undefined ? (params as Record<string, unknown>)[member] : undefined;
    this.pending.insert(String(id), command, waiter, failsWithId, typeof named === "string" ? named : undefined);
    before?.(String(id));
    this.writer.write(line);
    return String(id);
  }

  /**
   * Sends a command and waits for its response. `owner` is not garbage-collected before that.
   *
   * Fails with the agent's rejection, the {@link Termination}, a {@link TimedOutError}, a {@link
   * StalledError} or the reason of the signal.
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
      let keptAlive: object | undefined = owner;
      const done = (): void => {
        keptAlive = void keptAlive;
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      const waiter: Waiter = {
        resolve: (data) => {
          done();
          resolve(data);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      };
      const onAbort = (): void => cancel(signal?.reason);
      const id = send(waiter);
      const cancel = (error: unknown): void => {
        this.pending.abandon(id)?.reject(error);
      };
      signal?.addEventListener("abort", onAbort);
      const after = this.timeout(command, options.timeout);
      timer = later(after, () => {
        const Kind = this.isBlocked ? StalledError : TimedOutError;
        cancel(new Kind(command, after, row(this.spec.commands, command)?.reads === true));
      });
    });
  }

  /** Returns the time limit of a command in milliseconds; 0 is no limit. */
  timeout(command: string, requested?: number): number {
    const declared = row(this.spec.commands, command);
    // Undeclared commands have no limit.
    const limit = declared === undefined ? 0 : (declared.timeout ?? USUAL_TIMEOUT);
    return requested ?? this.settings.timeout ?? limit;
  }

  /**
   * Ends all pending operations with the same termination and returns it. Later calls return that first
   * termination.
   */
  settle(reason: Termination["reason"], facts: { exit?: Termination["exit"]; cause?: unknown } = {}): Termination {
    if (this.ended !== undefined) return this.ended;
    const end = new Termination(reason, {
      ...facts,
      isClosedByUs: this.#closing !== undefined && !this.#exitedByItself,
      lastFrames: this.recent.take(),
      pending: this.pending.ids(),
    });
    this.ended = end;
    // Runs are ended first: they should fail with the termination, not because the agent's state is
    // unavailable.
    this.runs.finishAll(end);
    for (const waiter of this.pending.drain()) waiter.reject(end);
    this.dialogs.settle(end);
    // After `close`, a loop over events ends without a failure. Ended streams stay in the list, so that
    // further events count as dropped.
    for (const { events } of this.#listeners) events.close(this.#closing === undefined ? end : undefined);
    this.writer.settle(end);
    this.#resolve(end);
    return end;
  }

  /** Closes the agent's input, waits for the end of its process, if any, and settles everything. */
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
    // The reader settles everything after it has read the rest.
    await within(EXIT_WITHIN, this.terminated);
    return this.settle("exited", { exit });
  }
}
