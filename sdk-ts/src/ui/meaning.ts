/**
 * Table with the meaning of a dialect's frames for a conversation, generated from the declaration. The
 * interpreter in this folder has no other knowledge of a dialect.
 */

/** Source of a value: a path (names and indices, separated by dots), or one of the forms. */
export type Source =
  | string
  | { readonly is: string | number | boolean }
  /** Result of the reader for the value at that path. */
  | { readonly read: string; readonly of: string }
  /** Results of the reader for the items of the list at that path. */
  | { readonly each: string; readonly of: string }
  /** Entry of the map for the value at that path. */
  | { readonly map: string; readonly to: Readonly<Record<string, string | number | boolean>> }
  /** Number at that path, multiplied. */
  | { readonly times: number; readonly of: string }
  /** Value at that path as text. */
  | { readonly text: string }
  /** Number of items in the list at that path. */
  | { readonly count: string }
  /** First of these sources with a value. */
  | { readonly first: readonly Source[] }
  /** Items of all these lists. */
  | { readonly join: readonly Source[] };

/** Sources of values by the names of slots or members. */
export type Sources = Readonly<Record<string, Source>>;

/** Condition. */
export interface Condition {
  readonly is?: readonly [path: string, value: string];
  readonly not?: readonly [path: string, value: string];
  readonly has?: string;
  readonly lacks?: string;
}

/** Rule that changes a conversation. */
export interface Rule {
  readonly act: string;
  readonly when?: readonly Condition[];
  /** List whose items the rule applies to. */
  readonly over?: string;
  readonly slots: Sources;
}

/** Conversion of values of a dialect into the neutral form. */
export interface Reader {
  /** Member that distinguishes kinds; empty if there is a single kind. */
  readonly tag: string;
  readonly cases: readonly { readonly tag: string; readonly when?: readonly Condition[]; readonly gives: Sources }[];
}

/** Rules by the name of their row. */
export type Rules = Readonly<Record<string, readonly Rule[]>>;

/** Meaning of the frames of a dialect. */
export interface Meaning {
  readonly dialect: string;
  readonly framing: "flat" | "enveloped" | "json-rpc";
  readonly notification?: string;
  readonly session?: string;
  readonly dialogFrames?: { readonly request: string; readonly answer: string };
  /** Commands with responses that a view needs if it starts late. */
  readonly asks: readonly string[];
  readonly readers: Readonly<Record<string, Reader>>;
  readonly events: Rules;
  readonly sent: Rules;
  readonly answers: Rules;
  readonly refused: Rules;
  readonly dialogs: Rules;
}
