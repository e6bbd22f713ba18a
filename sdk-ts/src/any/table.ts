/** Generated tables that map intents to commands of a dialect. */

import { neutral, omp, opal, operator, pi, pisces } from "../generated/intents/index.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { type Spec, row } from "../spec.js";
import { meaningOf } from "../ui/fold.js";
import type { Meaning, Reader, Sources } from "../ui/meaning.js";
import { readAll } from "../ui/read.js";

/** Purpose of a command, independent of the dialect. */
export type Intent = keyof typeof neutral;

/** Source of a command's parameter: a neutral parameter, a constant, or several joined texts. */
export type ParamSource =
  | string
  | { readonly is: string | number | boolean }
  | { readonly join: readonly string[]; readonly with: string };

/** Command of a dialect for an intent. */
export interface CommandMapping {
  readonly command: string;
  readonly sends: Readonly<Record<string, ParamSource>>;
  readonly gives: Sources;
  /** Parameter that contains the id of the session, if the command needs one. */
  readonly session?: string;
  /** Parameters that some revisions lack, each with the revisions that have it. */
  readonly only?: Readonly<Record<string, readonly string[]>>;
}

/** Mapping between the intents and the commands of a dialect. */
export interface IntentMappings {
  readonly dialect: string;
  readonly readers: Readonly<Record<string, Reader>>;
  /** Command without parameters that the agent answers at any time. */
  readonly probe: string;
  /** Command that opens a session and has no session id itself, in dialects with several sessions per connection. */
  readonly opens: string | null;
  readonly carriers: Readonly<Record<string, readonly CommandMapping[]>>;
  readonly own: Readonly<Record<string, { readonly reason: string; readonly byFront: boolean }>>;
  readonly made: readonly string[];
  readonly answers: Readonly<Record<string, string>>;
}

const TABLES: Readonly<Record<string, IntentMappings>> = { pi, omp, pisces, operator, opal };

/** Tables of a dialect: its commands by intent and the meaning of its frames. */
export class IntentTable {
  readonly mappings: IntentMappings;
  readonly meaning: Meaning;

  constructor(dialect: string) {
    const mappings = row(TABLES, dialect);
    if (mappings === undefined) throw new RangeError(`unknown dialect "${dialect}"; known: ${Object.keys(TABLES).join(", ")}`);
    const meaning = meaningOf(dialect);
    this.mappings = mappings;
    this.meaning = { ...meaning, readers: { ...meaning.readers, ...mappings.readers } };
  }

  /**
   * Returns the first command for an intent that the agent's revision has; `undefined` if there is no such
   * command.
   */
  mapping(spec: Spec, revision: string | undefined, intent: Intent): CommandMapping | undefined {
    const lacks = spec.revisions?.find(({ name }) => `${spec.name}@${name}` === revision)?.lacks ?? [];
    return row(this.mappings.carriers, intent)?.find(({ command }) => !lacks.includes(command));
  }

  /** Returns the neutral results in a response. A name with a dot refers to a member of an object. */
  results(mapping: CommandMapping, params: JsonObject, data: JsonValue | undefined): JsonObject {
    const answer: JsonObject = data === undefined ? { params } : { params, data };
    const results: JsonObject = {};
    for (const [name, value] of Object.entries(readAll(this.meaning, mapping.gives, answer))) {
      const [outer, inner] = name.split(".") as [string, string?];
      if (inner === undefined) results[outer] = value;
      else results[outer] = { ...(results[outer] as JsonObject | undefined), [inner]: value };
    }
    return results;
  }
}

/**
 * Returns the first neutral parameter that the command does not take in the revision. While the revision is
 * unknown, it suffices that any revision has the parameter. Omitted parameters are ignored.
 */
export function unsupportedParam(
  intent: Intent,
  { sends, only }: CommandMapping,
  revision: string | undefined,
  given: Readonly<Record<string, unknown>>,
): string | undefined {
  const params: readonly { readonly name: string; readonly hint?: boolean }[] = neutral[intent].params;
  const supported = new Set(params.filter(({ hint }) => hint === true).map(({ name }) => name));
  for (const [name, send] of Object.entries(sends)) {
    if (only?.[name]?.includes(revision ?? "") === false) continue;
    if (typeof send === "string") supported.add(send);
    else if ("join" in send) for (const part of send.join) supported.add(part);
  }
  return Object.keys(given).find((name) => given[name] !== undefined && given[name] !== null && !supported.has(name));
}

/** Builds the parameters of a command from neutral ones. */
export function commandParams({ sends }: CommandMapping, given: Readonly<Record<string, unknown>>): JsonObject {
  const all: JsonObject = {};
  for (const [name, send] of Object.entries(sends)) {
    const value = valueOf(send, given);
    if (value !== undefined && value !== null) all[name] = value as JsonValue;
  }
  return all;
}

function valueOf(send: ParamSource, given: Readonly<Record<string, unknown>>): unknown {
  if (typeof send === "string") return given[send];
  if ("is" in send) return send.is;
  const parts = send.join.map((name) => given[name]).filter((part) => typeof part === "string");
  return parts.length === 0 ? undefined : parts.join(send.with);
}
