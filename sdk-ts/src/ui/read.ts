/** Lookup of values in frames, and their conversion into the neutral form. */

import type { JsonObject, JsonValue } from "../generated/types.js";
import { fits, withDefaults } from "./kinds.js";
import type { Condition, Meaning, Reader, Source, Sources } from "./meaning.js";

/** Value in a frame; `undefined` if it is absent or null. */
export type FrameValue = JsonValue | undefined;

/** Keys in a table for all strings, and for all values without an entry of their own. */
const STRING = "(string)";
const OTHER = "(other)";

/** Returns the value at a path. */
export function at(value: FrameValue, path: string): FrameValue {
  let found = value;
  if (path !== "") {
    for (const name of path.split(".")) {
      if (Array.isArray(found)) found = /^\d+$/.test(name) ? found[Number(name)] : undefined;
      else found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
  }
  return found ?? undefined;
}

/** Returns `true` if all conditions hold. */
export function holds(tests: readonly Condition[] | undefined, value: FrameValue): boolean {
  return (tests ?? []).every(({ is, not, has, lacks }) => {
    if (is !== undefined) return scalarText(at(value, is[0])) === is[1];
    if (not !== undefined) return scalarText(at(value, not[0])) !== not[1];
    if (has !== undefined) return at(value, has) !== undefined;
    return lacks === undefined || at(value, lacks) === undefined;
  });
}

/**
 * Returns the values of all sources by name. Sources without a value of the right type are
 * omitted.
 */
export function readAll(meaning: Meaning, sources: Sources, value: FrameValue): JsonObject {
  const all: JsonObject = {};
  for (const [name, source] of Object.entries(sources)) {
    const found = read(meaning, source, value);
    if (found !== undefined && fits(name, found)) all[name] = found;
  }
  return all;
}

function read(meaning: Meaning, source: Source, value: FrameValue): FrameValue {
  if (typeof source === "string") return at(value, source);
  if ("is" in source) return source.is;
  if ("read" in source) return neutral(meaning, source.read, at(value, source.of));
  if ("each" in source) return each(meaning, source.each, at(value, source.of));
  if ("map" in source) {
    const key = scalarText(at(value, source.map));
    return key !== undefined && Object.hasOwn(source.to, key) ? source.to[key] : undefined;
  }
  if ("times" in source) {
    const number = at(value, source.of);
    return typeof number === "number" ? number * source.times : undefined;
  }
  if ("text" in source) return scalarText(at(value, source.text));
  if ("count" in source) {
    const list = at(value, source.count);
    return Array.isArray(list) ? list.length : undefined;
  }
  if ("join" in source) {
    return source.join.flatMap((part) => {
      const items = read(meaning, part, value);
      return Array.isArray(items) ? items : [];
    });
  }
  for (const alternative of source.first) {
    const found = read(meaning, alternative, value);
    if (found !== undefined) return found;
  }
  return undefined;
}

function each(meaning: Meaning, reader: string, value: FrameValue): FrameValue {
  if (value === undefined) return undefined;
  const items = Array.isArray(value) ? value : value === "" ? [] : [value];
  return items.map((item) => neutral(meaning, reader, item)).filter((item) => item !== undefined);
}

function neutral(meaning: Meaning, name: string, value: FrameValue): FrameValue {
  const reader = Object.hasOwn(meaning.readers, name) ? meaning.readers[name] : undefined;
  if (value === undefined || value === null || reader === undefined) return undefined;
  const found = caseOf(reader, value);
  return found === undefined ? undefined : withDefaults(name, readAll(meaning, found.gives, value));
}

function caseOf({ tag, cases }: Reader, value: FrameValue): Reader["cases"][number] | undefined {
  const kind = typeof value === "string" ? STRING : tag === "" ? OTHER : scalarText(at(value, tag));
  const fits = (wanted: string | undefined) => cases.find((known) => known.tag === wanted && holds(known.when, value));
  return fits(kind) ?? fits(OTHER);
}

/** Returns a value as text, as the tables contain it. */
function scalarText(value: FrameValue): string | undefined {
  return typeof value === "string" || typeof value === "boolean" || typeof value === "number" ? String(value) : undefined;
}

/** Returns `true` for a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
