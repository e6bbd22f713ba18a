/** Tables of a dialect, generated from the declaration. */

import type { FailureText } from "./generated/failures.js";
import type { JsonObject } from "./generated/types.js";

/** Effect of a command on runs. */
export type RunRole = "starts" | "acts" | "stops" | "replaces";

/** Effect of an event on the current run. */
export type RunEffect = "begins" | "may_end" | "holds" | "may_end_unless" | "may_end_if" | "holds_if" | "ends";

/** Runtime properties of a command. */
export interface CommandSpec {
  /** Time of the response; by default the end of the work. */
  readonly answer?: "accepted" | "acknowledged";
  readonly run?: RunRole;
  /** Default time limit in milliseconds: 30 000 if absent; 0 is no limit. */
  readonly timeout?: number;
  /** `true` if the command changes nothing, so that it may be repeated after a timeout. */
  readonly reads?: boolean;
  /** Parameters with another name in some revisions, with that name. */
  readonly renamed?: Readonly<Record<string, string>>;
}

/** Outcome that an event reports. */
export type ReportedOutcome = "failed" | "aborted" | "retried" | "fine";

/** Rule for the outcome in an event. Paths are names separated by dots. */
export interface OutcomeRule {
  /** List whose items the rule applies to; without it, the event itself. */
  readonly over?: string;
  /** Conditions, all of which must hold. */
  readonly when?: readonly { readonly is?: readonly string[]; readonly has?: string }[];
  /** Outcome if `valueOutcomes` yields no other one; `fine` by default. */
  readonly outcome?: ReportedOutcome;
  /** Member, and the outcomes of its values. */
  readonly valueOutcomes?: readonly [string, Readonly<Record<string, ReportedOutcome>>];
  /** Paths of the reason; the first one with a value applies. */
  readonly message?: readonly string[];
  /** Reason if no path has a value. */
  readonly text?: string;
  /** Paths of the code of the failure; the first one with a value applies. */
  readonly code?: readonly string[];
  /** True if the same prompt may succeed later. */
  readonly retryable?: boolean;
}

/** Runtime properties of an event. */
export interface EventSpec {
  readonly run?: RunEffect;
  /** Boolean member that `may_end_unless`, `may_end_if` and `holds_if` evaluate. */
  readonly member?: string;
  /** `true` if a newer event contains the whole content of an older one. */
  readonly snapshot?: boolean;
  /** Rules for the outcome of the run. */
  readonly outcome?: readonly OutcomeRule[];
}

/** Runtime properties of a dialog. */
export interface DialogSpec {
  /** Name of the handler. */
  readonly name: string;
  /** Member of the answer with the choice; without it no answer is expected. */
  readonly member?: string;
  /** Members of the answer with their JSON types: `any` for several types, `?` for an optional member. */
  readonly answer?: Readonly<Record<string, string>>;
  /** Answer that means "no answer". */
  readonly fallback?: Readonly<Record<string, unknown>>;
  /** Member with the id of an open question that this dialog withdraws. */
  readonly withdraws?: string;
  /** Member with the time in milliseconds after which the agent continues without an answer. */
  readonly timeout?: string;
  /**
   * Types of the dialog's own frames, if any: of the question, of the answer (with all members from the
   * handler), and of progress before the answer.
   */
  readonly frames?: { readonly request: string; readonly answer?: string; readonly progress?: string };
}

/** Assembler of frames that arrive in pieces. */
export interface FrameAssembler {
  /** Returns a frame on a single line, or the frame completed by this piece; `undefined` for other pieces. */
  accept(frame: JsonObject, line: string): string | undefined;
  /** Drops an incomplete frame after another frame or the end. */
  interrupt(by: string): void;
}

/** Receiver of a diagnostic for each frame that could not be reassembled. */
export interface AssemblerTap {
  diagnostic(diagnostic: { readonly kind: "chunks"; readonly message: string }): void;
}

/**
 * Pieces of frames that are too long for one line: the event with its members, and the size limit of a frame
 * in bytes.
 */
export interface Chunks {
  readonly event: string;
  readonly id: string;
  readonly index: string;
  readonly count: string;
  readonly length: string;
  readonly data: string;
  readonly most: number;
  /** Factory of the assembler; only dialects with pieces include its code. */
  readonly assembler: (chunks: Chunks, tap: AssemblerTap) => FrameAssembler;
}

/** Command with a response that shows if work continues. */
export interface StateCommand {
  readonly command: string;
  /** Member with that state; a boolean is `true` while work continues. */
  readonly busy: string;
  /** Value of this member while the agent is idle, if the member is text. */
  readonly idle?: string;
  /** Time limit of the response in milliseconds. */
  readonly limit: number;
}

/** Rules for the end of a run. */
export interface RunEnd {
  /** Command with a response that proves the end of the run. */
  readonly barrier?: StateCommand;
  /** Command that queries the state after an unreadable line of a run; the barrier by default. */
  readonly state?: StateCommand;
  /** Time after the barrier in which events may still follow, in milliseconds. */
  readonly gap: number;
  /** `true` if the response to the command that started the run ends it. */
  readonly answerEnds: boolean;
}

/** Revision that the agent speaks, as far as it is known. */
export interface AgentRevision {
  readonly revision: RevisionSpec | undefined;
  /** Returns the full name of a revision, for example `pi@1.5`. */
  id(revision: RevisionSpec | undefined): string;
}

/** Lines of dialects with renamed parameters or length limits in some revisions. */
export interface LineRules {
  /** Returns the line of a command. Fails with a `UsageError` if the line exceeds the limit of the agent. */
  write(spec: Spec<AnyTypes>, command: string, id: string | number, params: object, agentRevision: AgentRevision): string;
  /**
   * Fails with a `UsageError` if a line exceeds the limit of the agent. `what` is the command, or the
   * question that the line answers.
   */
  check(agentRevision: AgentRevision, what: string, line: string): void;
}

/** Types of the vocabulary of a dialect. */
export interface AnyTypes {
  /** Parameters and data of each command, by its wire name. */
  commands: Record<string, { params: object; data: unknown }>;
  /** Events by their types. */
  events: Record<string, { readonly type: string }>;
  /** Parameters and answer of each dialog, by its wire name. */
  dialogs: Record<string, { params: object; answer: unknown }>;
  handlers: object;
  serverFrame: object;
  clientFrame: object;
}

/**
 * Frame that distinguishes revisions: an event of a type, or a successful response to a command.
 *
 * With `member`, the frame must have that member, or must lack it with `isAbsent`. A response without
 * `member` must have no data. `isBare` matches any event without an envelope (`true`) or with one (`false`).
 */
export interface Fingerprint {
  readonly event?: string;
  readonly answer?: string;
  readonly member?: string;
  readonly isAbsent?: boolean;
  readonly isBare?: boolean;
}

/** Differences of one revision from the tables of all revisions. */
export interface RevisionSpec {
  readonly name: string;
  /** Commands that the revision lacks. */
  readonly lacks: readonly string[];
  /** Events with another effect on a run, or without snapshots. */
  readonly events: Readonly<Record<string, EventSpec>>;
  /** Frames that only this revision and newer ones send. */
  readonly shows: readonly Fingerprint[];
  /** Frames that only older revisions send. */
  readonly excludes: readonly Fingerprint[];
  /** Rules for the end of a run, if they differ. */
  readonly runEnd?: RunEnd;
  /** Limit of a command's line in bytes without its end. */
  readonly longest?: number;
  /** Renamed parameters by command, with the names of the revision. */
  readonly renamed?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Dialect, and its frame types or JSON-RPC methods in one text, separated by spaces. */
export type DialectVocabulary = readonly [dialect: string, names: string];

/** Protocol whose agents clients drive through a bridge. */
export interface BridgedProtocol {
  /** Protocol, for example `acp`. */
  readonly name: string;
  /** Version of the protocol. */
  readonly version: number;
  /** Command that precedes all others. */
  readonly handshake: string;
  /** Member of the handshake and of its answer for the version. */
  readonly versionMember: string;
  /** Dialect that the bridge serves to clients, for example `pi@1.5`. */
  readonly front: string;
}

/** Tables of a dialect, over all its revisions. */
export interface Spec<T extends AnyTypes = AnyTypes> {
  readonly name: string;
  readonly revision: string;
  /** Framing: bare objects, bare objects with events in an envelope, or JSON-RPC 2.0. */
  readonly framing: "flat" | "enveloped" | "json-rpc";
  /** Method of the notifications that carry events, in JSON-RPC. */
  readonly notification?: string;
  /** Member of an event that names its session, in dialects with several sessions per connection. */
  readonly session?: string;
  /** Types of the frames that carry dialogs, in flat dialects. */
  readonly dialogFrames?: { readonly request: string; readonly answer: string };
  /** Pieces of long frames, if the dialect has them. */
  readonly chunks?: Chunks;
  /** Dialects with another framing. */
  readonly others: readonly DialectVocabulary[];
  /** Value of `command` in a failure that may belong to any command. */
  readonly parseCommand: string;
  /** Commands with failures that carry their id, if those of other commands do not. */
  readonly failsWithId?: readonly string[];
  /** Documented failures, and the prefix of responses to unreadable lines. */
  readonly failures: { readonly prefix: string; readonly texts: readonly FailureText[] };
  readonly runEnd: RunEnd;
  /** Special rules for lines; only dialects that need them include their code. */
  readonly lines?: LineRules;
  /** Revisions, oldest first, if there are several. */
  readonly revisions?: readonly RevisionSpec[];
  readonly commands: Readonly<Record<string, CommandSpec>>;
  readonly events: Readonly<Record<string, EventSpec>>;
  readonly dialogs: Readonly<Record<string, DialogSpec>>;
  /** Never set; connects the types with the tables. */
  readonly types?: T;
}

/** Events of a dialect. */
export type EventOf<T extends AnyTypes> = T["events"][keyof T["events"]];

/** Parameters of a command. */
export type ParamsOf<T extends AnyTypes, K extends keyof T["commands"]> = T["commands"][K]["params"];

/** Data of a command's response. */
export type DataOf<T extends AnyTypes, K extends keyof T["commands"]> = T["commands"][K]["data"];

/** Returns the row of a table for an external name. Ignores inherited properties. */
export function row<V>(table: Readonly<Record<string, V>>, name: unknown): V | undefined {
  return typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Returns `true` if a dialog requires an answer. */
export function needsAnswer(dialog: DialogSpec): boolean {
  return dialog.member !== undefined || dialog.frames?.answer !== undefined;
}

/** Returns `true` if frames of that type answer dialogs, or show progress before an answer. */
export function isAnswer(spec: Spec<AnyTypes>, type: unknown): boolean {
  if (type === spec.dialogFrames?.answer) return true;
  return Object.values(spec.dialogs).some(({ frames }) => frames?.answer === type || frames?.progress === type);
}
