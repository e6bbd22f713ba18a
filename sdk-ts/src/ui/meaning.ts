/**
 * Table with the meaning of a dialect's frames for a conversation, generated from the declaration. The
 * fold in this folder depends on no other property of a dialect.
 */

/** Source of a value: a path of names and indices separated by dots, or one of these forms. */
export type Source =
  | string
  | { readonly is: string | number | boolean }
  /** Result of the named reader for the value at that path. */
  | { readonly read: string; readonly of: string }
  /** Results of the named reader for all items of the list at that path. */
  | { readonly each: string; readonly of: string }
  /** Value that the map assigns to the value at that path. */
  | { readonly map: string; readonly to: Readonly<Record<string, string | number | boolean>> }
  /** Number at that path, multiplied by a factor. */
  | { readonly times: number; readonly of: string }
  /** Value at that path as text. */
  | { readonly text: string }
  /** Number of items in the list at that path. */
  | { readonly count: string }
  /** First of these sources with a value. */
  | { readonly first: readonly Source[] }
  /** Items of all these lists, joined. */
  | { readonly join: readonly Source[] };

/** Sources of values, by the names of bindings or members. */
export type Sources = Readonly<Record<string, Source>>;

/** Condition on a value. */
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
  /** Member whose value selects the case; empty if there is only one. */
  readonly tag: string;
  readonly cases: readonly { readonly tag: string; readonly when?: readonly Condition[]; readonly gives: Sources }[];
}

/** Rules by the name of the row that they apply to. */
export type Rules = Readonly<Record<string, readonly Rule[]>>;

/** Meaning of the frames of a dialect. */
export interface Meaning {
  readonly dialect: string;
  readonly framing: "flat" | "enveloped" | "json-rpc";
  readonly notification?: string;
  readonly session?: string;
  readonly dialogFrames?: { readonly request: string; readonly answer: string };
  /** Commands whose responses a view needs if it starts in the middle of a session. */
  readonly asks: readonly string[];
  readonly readers: Readonly<Record<string, Reader>>;
  readonly events: Rules;
  readonly sent: Rules;
  readonly answers: Rules;
  readonly refused: Rules;
  readonly dialogs: Rules;
}
