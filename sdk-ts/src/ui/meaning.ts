/**
 * The table that says what frames of a dialect mean for a conversation. It is generated from the declaration; the
 * interpreter of this folder knows nothing of any dialect besides.
 */

/** Where a value is found: a path (names and places in lists, with dots between), or one of the forms. */
export type Source =
  | string
  | { readonly is: string | number | boolean }
  /** What the reader makes of the value at that path. */
  | { readonly read: string; readonly of: string }
  /** What the reader makes of each item of the list at that path. */
  | { readonly each: string; readonly of: string }
  /** What stands beside the value at that path. */
  | { readonly map: string; readonly to: Readonly<Record<string, string | number | boolean>> }
  /** A number, that many times. */
  | { readonly times: number; readonly of: string }
  /** The value at that path as text. */
  | { readonly text: string }
  /** How many items the list at that path has. */
  | { readonly count: string }
  /** The first of these that has a value. */
  | { readonly first: readonly Source[] }
  /** The items of all of these lists. */
  | { readonly join: readonly Source[] };

/** Names of slots or members, and where their values are found. */
export type Sources = Readonly<Record<string, Source>>;

/** A condition. */
export interface Test {
  readonly is?: readonly [path: string, value: string];
  readonly not?: readonly [path: string, value: string];
  readonly has?: string;
  readonly lacks?: string;
}

/** What is done to a conversation. */
export interface Rule {
  readonly act: string;
  readonly when?: readonly Test[];
  /** The list for each of whose items it is done. */
  readonly over?: string;
  readonly slots: Sources;
}

/** How values of a dialect are written in the neutral form. */
export interface Reader {
  /** The member that tells kinds apart; empty where there is one kind. */
  readonly tag: string;
  readonly cases: readonly { readonly tag: string; readonly when?: readonly Test[]; readonly gives: Sources }[];
}

/** The rules of rows, by the name of the row. */
export type Rules = Readonly<Record<string, readonly Rule[]>>;

/** What the frames of a dialect mean. */
export interface Meaning {
  readonly dialect: string;
  readonly framing: "flat" | "enveloped" | "json-rpc";
  readonly notification?: string;
  readonly session?: string;
  readonly dialogFrames?: { readonly request: string; readonly answer: string };
  /** The commands whose answers tell a view that begins late what it has missed. */
  readonly asks: readonly string[];
  readonly readers: Readonly<Record<string, Reader>>;
  readonly events: Rules;
  readonly sent: Rules;
  readonly answers: Rules;
  readonly refused: Rules;
  readonly dialogs: Rules;
}
