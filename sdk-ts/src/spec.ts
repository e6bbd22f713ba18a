/** Tables of a dialect, generated from the declaration. */

import type { FailureText } from "./generated/failures.js";
import type { JsonObject } from "./generated/types.js";

/** Effect of a command on runs. */
export type RunRole = "starts" | "acts" | "stops" | "replaces";

/** Effect of an event on the current run. */
export type RunEffect = "begins" | "may_end" | "holds" | "may_end_unless" | "may_end_if" | "holds_if" | "ends";

/** Runtime properties of a command. */
export interface CommandSpec {
  /** Moment of the response; by default the end of the command's work. */
  readonly answer?: "accepted" | "acknowledged";
  readonly run?: RunRole;
  /** Default time limit in milliseconds: 30 000 if absent; 0 is no limit. */
  readonly timeout?: number;
  /** `true` if the command is read-only, so that it can be repeated after a timeout. */
  readonly reads?: boolean;
  /** Parameters that have another name in some revisions, each with that other name. */
  readonly renamed?: Readonly<Record<string, string>>;
}

/** Outcome that an event reports. */
export type ReportedOutcome = "failed" | "aborted" | "retried" | "fine";

/** Rule that derives the outcome of a run from an event. Paths are names separated by dots. */
export interface OutcomeRule {
  /** Path of a list to whose items the rule applies; by default, the rule applies to the event itself. */
  readonly over?: string;
  /** Conditions, all of which must hold. */
  readonly when?: readonly { readonly is?: readonly string[]; readonly has?: string }[];
  /** Outcome if `valueOutcomes` yields no other one; `fine` by default. */
  readonly outcome?: ReportedOutcome;
  /** Path of a member, and the outcome for each of its values. */
  readonly valueOutcomes?: readonly [string, Readonly<Record<string, ReportedOutcome>>];
  /** Paths at which the reason is searched, in order. */
  readonly message?: readonly string[];
  /** Reason if no path has a value. */
  readonly text?: string;
  /** Paths at which the code of the failure is searched, in order. */
  readonly code?: readonly string[];
  /** `true` if the same prompt may succeed later. */
  readonly retryable?: boolean;
}

/** Runtime properties of an event. */
export interface EventSpec {
  readonly run?: RunEffect;
  /** Boolean member that determines the effect in `may_end_unless`, `may_end_if` and `holds_if`. */
  readonly member?: string;
  /** `true` if a newer event contains the whole content of an older one. */
  readonly snapshot?: boolean;
  /** Rules for the outcome of the run. */
  readonly outcome?: readonly OutcomeRule[];
}

/** Runtime properties of a dialog. */
export interface DialogSpec {
  /** Name of the method that handles the dialog. */
  readonly name: string;
  /** Member of the answer that contains the choice; absent if the agent expects no answer. */
  readonly member?: string;
  /** Members of the answer with their JSON types: `any` for several types, `?` for an optional member. */
  readonly answer?: Readonly<Record<string, string>>;
  /** Answer that the declared policy gives without a handler. */
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

/** Assembler of frames that arrive in chunks. */
export interface FrameAssembler {
  /** Returns the frame in this line, or the frame that this chunk completes; `undefined` for other chunks. */
  accept(frame: JsonObject, line: string): string | undefined;
  /** Drops an incomplete frame, because another frame or the end of the connection follows. */
  interrupt(by: string): void;
}

/** Receiver of a diagnostic for each frame that could not be reassembled. */
export interface AssemblerTap {
  diagnostic(diagnostic: { readonly kind: "chunks"; readonly message: string }): void;
}

/**
 * Chunks of frames that are too long for one line: the event that carries them, its members, and the maximum
 * size of a frame in bytes.
 */
export interface Chunks {
  readonly event: string;
  readonly id: string;
  readonly index: string;
  readonly count: string;
  readonly length: string;
  readonly data: string;
  readonly most: number;
  /** Factory of the assembler. Only dialects with chunked frames include its code. */
  readonly assembler: (chunks: Chunks, tap: AssemblerTap) => FrameAssembler;
}

/** Command whose response reports if work continues. */
export interface StateCommand {
  readonly command: string;
  /** Member of the response with the state. If it is a boolean, it is `true` while work continues. */
  readonly busy: string;
  /** Value of this member while the agent is idle, if the member is a text. */
  readonly idle?: string;
  /** Time limit for the response in milliseconds. */
  readonly limit: number;
}

/** Rules for the end of a run. */
export interface RunEnd {
  /** Command whose response proves the end of the run. */
  readonly barrier?: StateCommand;
  /** Command that queries the state after an unreadable line of a run; the barrier by default. */
  readonly state?: StateCommand;
  /** Time in milliseconds after the response to the barrier in which events may still follow. */
  readonly gap: number;
  /** `true` if the response to the command that started the run ends it. */
  readonly answerEnds: boolean;
}

/** Revision of the agent, as far as it is known. */
export interface AgentRevision {
  readonly revision: RevisionSpec | undefined;
  /** Returns the full name of a revision, for example `pi@1.5`. */
  id(revision: RevisionSpec | undefined): string;
}

/**
 * Rules for command lines, in dialects in which some revisions rename parameters or limit the length of a
 * line.
 */
export interface LineRules {
  /** Returns the line of a command. Fails with a `UsageError` if the line exceeds the limit of the agent. */
  write(spec: Spec<AnyTypes>, command: string, id: string | number, params: object, agentRevision: AgentRevision): string;
  /**
   * Fails with a `UsageError` if a line exceeds the agent's limit. `what` names the command, or the
   * question that the line answers.
   */
  check(agentRevision: AgentRevision, what: string, line: string): void;
}

/** Types of the commands, events and dialogs of a dialect. */
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
 * If `member` is set, the frame must have that member, or must lack it if `isAbsent` is `true`. A fingerprint
 * of a response without `member` requires that there is no data. `isBare` matches any event without an
 * envelope (`true`) or with one (`false`).
 */
export interface Fingerprint {
  readonly event?: string;
  readonly answer?: string;
  readonly member?: string;
  readonly isAbsent?: boolean;
  readonly isBare?: boolean;
}

/** Differences between one revision and the tables, which describe all revisions together. */
export interface RevisionSpec {
  readonly name: string;
  /** Commands that the revision lacks. */
  readonly lacks: readonly string[];
  /** Events that have another effect on a run in this revision, or are no snapshots. */
  readonly events: Readonly<Record<string, EventSpec>>;
  /** Frames that only this revision and newer ones send. */
  readonly shows: readonly Fingerprint[];
  /** Frames that only older revisions send. */
  readonly excludes: readonly Fingerprint[];
  /** Rules for the end of a run, if they differ. */
  readonly runEnd?: RunEnd;
  /** Maximum length of a command's line in bytes, without its line feed. */
  readonly longest?: number;
  /** Renamed parameters by command, each with its name in the revision. */
  readonly renamed?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Name of a dialect, and all its frame types or JSON-RPC methods in one text, separated by spaces. */
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
  /** Chunks of long frames, if the dialect has them. */
  readonly chunks?: Chunks;
  /** Frame types of the dialects with another framing. */
  readonly others: readonly DialectVocabulary[];
  /** Value of `command` in a failure that may belong to any command. */
  readonly parseCommand: string;
  /** Commands whose failures carry the id of the command, if other failures do not. */
  readonly failsWithId?: readonly string[];
  /** Documented failures, and the prefix of responses to unreadable lines. */
  readonly failures: { readonly prefix: string; readonly texts: readonly FailureText[] };
  readonly runEnd: RunEnd;
  /** Special rules for command lines. Only dialects that need them include their code. */
  readonly lines?: LineRules;
  /** Revisions, oldest first, if there are several. */
  readonly revisions?: readonly RevisionSpec[];
  readonly commands: Readonly<Record<string, CommandSpec>>;
  readonly events: Readonly<Record<string, EventSpec>>;
  readonly dialogs: Readonly<Record<string, DialogSpec>>;
  /** Never set. Connects the types of the dialect with its tables. */
  readonly types?: T;
}

/** Any event of a dialect. */
export type EventOf<T extends AnyTypes> = T["events"][keyof T["events"]];

/** Parameters of a command. */
export type ParamsOf<T extends AnyTypes, K extends keyof T["commands"]> = T["commands"][K]["params"];

/** Data of a command's response. */
export type DataOf<T extends AnyTypes, K extends keyof T["commands"]> = T["commands"][K]["data"];

/** Returns the row of a table for a name from outside. Inherited properties are ignored. */
export function row<V>(table: Readonly<Record<string, V>>, name: unknown): V | undefined {
  return typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Returns `true` if a dialog requires an answer. */
export function needsAnswer(dialog: DialogSpec): boolean {
  return dialog.member !== undefined || dialog.frames?.answer !== undefined;
}

/** Returns `true` if frames of that type answer dialogs, or report progress before an answer. */
export function isAnswer(spec: Spec<AnyTypes>, type: unknown): boolean {
  if (type === spec.dialogFrames?.answer) return true;
  return Object.values(spec.dialogs).some(({ frames }) => frames?.answer === type || frames?.progress === type);
}
