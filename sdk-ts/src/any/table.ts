/** The tables that say which command of a dialect carries an intent. They are generated from the declaration. */

import { neutral, omp, opal, operator, pi, pisces } from "../generated/intents/index.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { type Spec, row } from "../spec.js";
import { meaningOf } from "../ui/fold.js";
import type { Meaning, Reader, Sources } from "../ui/meaning.js";
import { readAll } from "../ui/read.js";

/** What a front end wants of an agent, whatever its dialect. */
export type Intent = keyof typeof neutral;

/** How a parameter of a command is made of neutral ones. */
export type Send =
  | string
  | { readonly is: string | number | boolean }
  | { readonly join: readonly string[]; readonly with: string };

/** Which command carries an intent. */
export interface Carrier {
  readonly command: string;
  readonly sends: Readonly<Record<string, Send>>;
  readonly gives: Sources;
  /** The parameter that names the session, where the command needs one. */
  readonly session?: string;
  /** Those of its parameters that some revisions lack, with the revisions that have them. */
  readonly only?: Readonly<Record<string, readonly string[]>>;
}

/** What a dialect's commands are for. */
export interface Carriers {
  readonly dialect: string;
  readonly readers: Readonly<Record<string, Reader>>;
  /** A command without parameters that is answered at any time. */
  readonly probe: string;
  /** The command that opens a session and needs to know nothing, where a connection has several. */
  readonly opens: string | null;
  readonly carriers: Readonly<Record<string, readonly Carrier[]>>;
  readonly own: Readonly<Record<string, { readonly reason: string; readonly byFront: boolean }>>;
  readonly made: readonly string[];
  readonly answers: Readonly<Record<string, string>>;
}

const TABLES: Readonly<Record<string, Carriers>> = { pi, omp, pisces, operator, opal };

/** The table of a dialect, with what its frames mean. */
export class Table {
  readonly carriers: Carriers;
  readonly meaning: Meaning;

  constructor(dialect: string) {
    const carriers = row(TABLES, dialect);
    if (carriers === undefined) throw new RangeError(`unknown dialect "${dialect}"`);
    const meaning = meaningOf(dialect);
    this.carriers = carriers;
    this.meaning = { ...meaning, readers: { ...meaning.readers, ...carriers.readers } };
  }

  /** The command that carries an intent: the first one that the agent's revision has. */
  carrier(spec: Spec, revision: string | undefined, intent: Intent): Carrier | undefined {
    const lacks = spec.revisions?.find(({ name }) => `${spec.name}@${name}` === revision)?.lacks ?? [];
    return row(this.carriers.carriers, intent)?.find(({ command }) => !lacks.includes(command));
  }

  /** The neutral results in an answer; a name with a dot is a member of an object. */
  results(carrier: Carrier, params: JsonObject, data: JsonValue | undefined): JsonObject {
    const answer: JsonObject = data === undefined ? { params } : { params, data };
    const results: JsonObject = {};
    for (const [name, value] of Object.entries(readAll(this.meaning, carrier.gives, answer))) {
      const [outer, inner] = name.split(".") as [string, string?];
      if (inner === undefined) results[outer] = value;
      else results[outer] = { ...(results[outer] as JsonObject | undefined), [inner]: value };
    }
    return results;
  }
}

/**
 * The first of the neutral parameters that a command does not take, in a revision, or in one of them where that is not known.
 * Those that are left out there do not count.
 */
export function untaken(
  intent: Intent,
  { sends, only }: Carrier,
  revision: string | undefined,
  given: Readonly<Record<string, unknown>>,
): string | undefined {
  const params: readonly { readonly name: string; readonly hint?: boolean }[] = neutral[intent].params;
  const taken = new Set(params.filter(({ hint }) => hint === true).map(({ name }) => name));
  for (const [name, send] of Object.entries(sends)) {
    if (only?.[name]?.includes(revision ?? "") === false) continue;
    if (typeof send === "string") taken.add(send);
    else if ("join" in send) for (const part of send.join) taken.add(part);
  }
  return Object.keys(given).find((name) => given[name] !== undefined && given[name] !== null && !taken.has(name));
}

/** The parameters of a command, made of neutral ones. */
export function members({ sends }: Carrier, given: Readonly<Record<string, unknown>>): JsonObject {
  const all: JsonObject = {};
  for (const [name, send] of Object.entries(sends)) {
    const value = valueOf(send, given);
    if (value !== undefined && value !== null) all[name] = value as JsonValue;
  }
  return all;
}

function valueOf(send: Send, given: Readonly<Record<string, unknown>>): unknown {
  if (typeof send === "string") return given[send];
  if ("is" in send) return send.is;
  const parts = send.join.map((name) => given[name]).filter((part) => typeof part === "string");
  return parts.length === 0 ? undefined : parts.join(send.with);
}
