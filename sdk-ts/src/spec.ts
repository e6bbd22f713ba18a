/** The tables of a dialect, generated from the declaration. */

import type { Pieces } from "./chunks.js";
import type { FailureText } from "./generated/failures.js";
import type { OutcomeRule } from "./outcome.js";
import type { Recognised } from "./recognition.js";
import type { Known } from "./revision.js";
import type { SafeTap } from "./tap.js";

/** What a command has to do with the work that a prompt starts. */
export type RunRole = "starts" | "acts" | "stops" | "replaces";

/** What an event says about the run that is going on. */
export type RunEffect = "begins" | "may_end" | "holds" | "may_end_unless" | "may_end_if" | "holds_if" | "ends";

/** What the runtime knows of a command. */
export interface CommandSpec {
  /** When it is answered; without it: when the work is done. */
  readonly answer?: "accepted" | "acknowledged";
  readonly run?: RunRole;
  /** How long a client waits by default, in milliseconds: 30 000 without it; 0 is without a limit. */
  readonly timeout?: number;
  /** Whether it changes nothing: a call that timed out may be made again. */
  readonly reads?: boolean;
  /** Parameters that have another name in some revisions, with that name. */
  readonly renamed?: Readonly<Record<string, string>>;
}

/** What the runtime knows of an event. */
export interface EventSpec {
  readonly run?: RunEffect;
  /** The boolean member that `may_end_unless`, `may_end_if` and `holds_if` look at. */
  readonly member?: string;
  /** Whether a newer one carries all that an older one did. */
  readonly snapshot?: boolean;
  /** What it tells of how the run stands. */
  readonly outcome?: readonly OutcomeRule[];
}

/** What the runtime knows of a dialog. */
export interface DialogSpec {
  /** The handler's name. */
  readonly name: string;
  /** The member of the answer that carries what was chosen; without it no answer is expected. */
  readonly member?: string;
  /** The members of the answer with their JSON types (`any` where several are possible); `?` where one may be missing. */
  readonly answer?: Readonly<Record<string, string>>;
  /** The answer that means "no answer". */
  readonly fallback?: Readonly<Record<string, unknown>>;
  /** The member that names an open question, by its id, which this one takes back. */
  readonly withdraws?: string;
  /** The member that says after how many milliseconds the agent answers for itself. */
  readonly timeout?: string;
  /**
   * The types of the frames that it stands in, where they are its own: of the question, of the answer (which has all
   * members that the handler gives), and of what may come before the answer.
   */
  readonly frames?: { readonly request: string; readonly answer?: string; readonly progress?: string };
}

/** Frames that are too long for one line and come in pieces: the event and its members, and the most bytes of a frame. */
export interface Chunks {
  readonly event: string;
  readonly id: string;
  readonly index: string;
  readonly count: string;
  readonly length: string;
  readonly data: string;
  readonly most: number;
  /** What puts the pieces together; only dialects that have pieces bring its code. */
  readonly pieces: (chunks: Chunks, tap: Pick<SafeTap, "diagnostic">) => Pieces;
}

/** A command whose answer says whether work goes on. */
export interface StateCommand {
  readonly command: string;
  /** The member that says it: true while work goes on, where it is a boolean. */
  readonly busy: string;
  /** The value that this member has while the agent is idle, where it is text. */
  readonly idle?: string;
  /** How long the answer is waited for, in milliseconds. */
  readonly limit: number;
}

/** How a client knows that a run is over. */
export interface RunEnd {
  /** The command whose answer proves that nothing follows. */
  readonly barrier?: StateCommand;
  /** The command that says whether work goes on, asked after a line of a run could not be read; the barrier without it. */
  readonly state?: StateCommand;
  /** How long something may still follow after that, in milliseconds. */
  readonly gap: number;
  /** Whether the answer to the command that started the run ends it. */
  readonly answerEnds: boolean;
}

/** Parameters with names of their own in some revisions, and lines of a limited length. */
export interface Lines {
  /** The line of a command. Fails with a `UsageError` where it is longer than the agent reads. */
  write(spec: Spec<AnyTypes>, command: string, id: string | number, params: object, known: Known): string;
  /** Fails with a `UsageError` where a line is longer than the agent reads. `what` is the command, or the question that it answers. */
  check(known: Known, what: string, line: string): void;
}

/** The typed vocabulary that stands behind a dialect's tables. */
export interface AnyTypes {
  /** What each command takes and gives, by its wire name. */
  commands: Record<string, { params: object; data: unknown }>;
  /** Each event by its type. */
  events: Record<string, { readonly type: string }>;
  /** What each dialog asks and is answered with, by its wire name. */
  dialogs: Record<string, { params: object; answer: unknown }>;
  handlers: object;
  serverFrame: object;
  clientFrame: object;
}

/**
 * A frame that tells revisions apart: an event of that type, or a successful answer to that command; where `member` is
 * named, one that has that member, or, with `isAbsent`, one that has it not. An answer of which no member is named has no
 * data; `isBare` is any event that stands in no envelope (`true`) or in one (`false`).
 */
export interface Sign {
  readonly event?: string;
  readonly answer?: string;
  readonly member?: string;
  readonly isAbsent?: boolean;
  readonly isBare?: boolean;
}

/** What one revision has otherwise than the tables of all. */
export interface RevisionSpec {
  readonly name: string;
  /** Commands that it does not have. */
  readonly lacks: readonly string[];
  /** Its events that say something else about a run, or are no snapshots. */
  readonly events: Readonly<Record<string, EventSpec>>;
  /** Frames that only this revision and younger ones send. */
  readonly shows: readonly Sign[];
  /** Frames that only older revisions send. */
  readonly excludes: readonly Sign[];
  /** How a run ends in it, where that is another way. */
  readonly runEnd?: RunEnd;
  /** How long the line of a command may be, in bytes without its end. */
  readonly longest?: number;
  /** The parameters that it calls otherwise, by command, with its names. */
  readonly renamed?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** The tables of a dialect: what any of its revisions has. */
export interface Spec<T extends AnyTypes = AnyTypes> {
  readonly name: string;
  readonly revision: string;
  /** Bare objects, the same with events in an envelope, or JSON-RPC 2.0. */
  readonly framing: "flat" | "enveloped" | "json-rpc";
  /** The method of the notifications that carry events, in JSON-RPC. */
  readonly notification?: string;
  /** The member of an event that names its session, where a connection has several. */
  readonly session?: string;
  /** The types of the frames that carry dialogs, in flat dialects. */
  readonly dialogFrames?: { readonly request: string; readonly answer: string };
  /** How long frames come in pieces, where they may. */
  readonly chunks?: Chunks;
  /** The dialects that are framed otherwise. */
  readonly others: readonly Recognised[];
  /** The `command` of a failure that may belong to any command. */
  readonly parseCommand: string;
  /** The commands whose failures carry their id, where those of others do not. */
  readonly failsWithId?: readonly string[];
  /** The failures that the dialect's document names, and how answers to lines that cannot be read begin. */
  readonly failures: { readonly prefix: string; readonly texts: readonly FailureText[] };
  readonly runEnd: RunEnd;
  /** What its lines need beyond those of other dialects; only dialects that need it bring its code. */
  readonly lines?: Lines;
  /** Its revisions, the oldest first, where there are several. */
  readonly revisions?: readonly RevisionSpec[];
  readonly commands: Readonly<Record<string, CommandSpec>>;
  readonly events: Readonly<Record<string, EventSpec>>;
  readonly dialogs: Readonly<Record<string, DialogSpec>>;
  /** Never set: it ties the types to the tables. */
  readonly types?: T;
}

/** The events of a dialect. */
export type EventOf<T extends AnyTypes> = T["events"][keyof T["events"]];

/** The parameters of a command. */
export type ParamsOf<T extends AnyTypes, K extends keyof T["commands"]> = T["commands"][K]["params"];

/** The data of a command's answer. */
export type DataOf<T extends AnyTypes, K extends keyof T["commands"]> = T["commands"][K]["data"];

/** A row of a table by a name that came from outside; never what every object inherits. */
export function row<V>(table: Readonly<Record<string, V>>, name: unknown): V | undefined {
  return typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Whether somebody has to answer a dialog. */
export function isAnswered(dialog: DialogSpec): boolean {
  return dialog.member !== undefined || dialog.frames?.answer !== undefined;
}

/** Whether frames of that type answer dialogs, or show something before the answer. */
export function isAnswer(spec: Spec<AnyTypes>, type: unknown): boolean {
  if (type === spec.dialogFrames?.answer) return true;
  return Object.values(spec.dialogs).some(({ frames }) => frames?.answer === type || frames?.progress === type);
}
