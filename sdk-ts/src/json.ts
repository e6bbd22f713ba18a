/** Reading and writing JSON: lone surrogates are replaced, and members of long objects are parsed when they are first read. */

import { DecodeError } from "./error.js";
import type { JsonObject, JsonValue } from "./generated/types.js";
import { MAX_DEPTH, type Member, type Members, type Seen, scanMembers } from "./scan.js";

/** From this length on, in UTF-16 units, an object is not parsed until its members are looked at. */
export const LAZY_FROM = 4096;

/**
 * Parses JSON text. Lone surrogates, which only escapes can hold, become U+FFFD.
 *
 * Fails with the error of `JSON.parse`.
 */
export function parse(text: string, source: Source = ALONE): JsonValue {
  const value = JSON.parse(text) as JsonValue;
  return source.mayEscape && text.includes("\\u") && /\\u[dD][89a-fA-F]/.test(text) ? (replaceLoneSurrogates(value) as JsonValue) : value;
}

/** Where a line comes from. */
export interface Source {
  /** Whether the line may have a `\u` escape. */
  readonly mayEscape: boolean;
  /** The long strings of the lines before. */
  readonly seen?: Seen;
}

/** Any text may have an escape. */
const ALONE: Source = { mayEscape: true };

/** Writes a value as JSON in one line. Lone surrogates become U+FFFD. */
export function stringify(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  // Only a lone surrogate is written as an escape.
  return text.includes("\\ud") ? (JSON.stringify(replaceLoneSurrogates(value)) ?? "null") : text;
}

/** A member as it stands in the line, where parsing and writing it again could change how it looks. */
export function rawMember(line: string, name: string, value: JsonValue): string {
  if (typeof value === "string") return stringify(value);
  const members = scanMembers(line);
  const member = typeof members === "string" ? undefined : members.findLast((member) => member[0] === name);
  return member === undefined ? stringify(value) : line.slice(member[1], member[2]);
}

function replaceLoneSurrogates(value: unknown): unknown {
  if (typeof value === "string") return value.replace(LONE_SURROGATE, "\ufffd");
  if (Array.isArray(value)) return value.map(replaceLoneSurrogates);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [replaceLoneSurrogates(name), replaceLoneSurrogates(member)]));
}

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * Reads a line that should be one JSON object.
 *
 * Members of long objects are parsed when they are first read, at every level. Each is an own, enumerable member, so
 * that copying and `JSON.stringify` work.
 * Fails with a {@link DecodeError}; where a member of a long object is malformed, not before that member is
 * read. `source` is the text that the line is a part of, `members` what is in a long one; `report` is told of the first
 * number of each value that no double holds.
 */
export function parseObject(text: string, source?: Source, members: Members | string = "", report?: Report): JsonObject {
  if (text.length < LAZY_FROM) {
    let value: JsonValue;
    try {
      value = parse(text, source);
    } catch (error) {
      throw new DecodeError(reason(text, error), text);
    }
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return look(value, text, report) as JsonObject;
    }
    throw new DecodeError(`expected an object, found ${nameOf(value)}`, text);
  }
  const found = members || scanMembers(text, source?.seen);
  if (typeof found === "string") throw new DecodeError(found, text);
  return lazyObject(text, found, report);
}

/** Is told of a number that is not read exactly, as it was written. */
export type Report = (number: string) => void;

/**
 * Refuses a value that is nested too deep, and reports the first of its numbers that is not exact. Gives the value with the
 * largest double in place of the numbers beyond it.
 */
function look(value: JsonValue, text: string, report: Report | undefined): JsonValue {
  if (!hasLarge(value, 0, text)) return value;
  const inexact = [...text.matchAll(NUMBERS)].flatMap(([, number]) => number ?? []).find((number) => !isExact(number));
  if (inexact === undefined) return value;
  report?.(inexact);
  return parse(text.replace(NUMBERS, (match) => (/^-?\d/.test(match) && !isFinite(+match) ? `${match[0] === "-" ? "-" : ""}${Number.MAX_VALUE}` : match)));
}

/** Whether a number of the value may not be exact. `depth` is how many brackets are around the value. */
function hasLarge(value: JsonValue, depth: number, text: string): boolean {
  if (typeof value === "number") return !(value <= Number.MAX_SAFE_INTEGER && value >= -Number.MAX_SAFE_INTEGER);
  if (typeof value !== "object" || value === null) return false;
  if (depth === MAX_DEPTH) throw new DecodeError(`nested deeper than ${MAX_DEPTH} levels`, text);
  let isLarge = false;
  if (Array.isArray(value)) for (const item of value) isLarge = hasLarge(item, depth + 1, text) || isLarge;
  else for (const name in value) isLarge = hasLarge(value[name] as JsonValue, depth + 1, text) || isLarge;
  return isLarge;
}

/** The numbers of a JSON text, and its strings. */
const NUMBERS = /"(?:[^"\\]|\\.)*"|(-?\d[-+.\deE]*)/g;

function isExact(number: string): boolean {
  const value = Number(number);
  return Number.isFinite(value) && (/[.eE]/.test(number) || BigInt(number) === BigInt(value));
}

/**
 * Where an object keeps what was not parsed yet: a function from a member's name to its value, which may be given. A
 * symbol and not a private name, because who wraps the object (a framework's proxy) has to see it.
 */
const UNREAD = Symbol("unread");

/** What was read or given. */
type Value = [value: JsonValue];

interface Unread extends JsonObject {
  [UNREAD](name: string, given?: Value): JsonValue;
}

/**
 * The accessors of members by name, shared by all objects. Engines give accessors a long life, and
 * an accessor of one object alone would keep its text for as long.
 */
const accessors = new Map<string, PropertyDescriptor>();

/** So many names are kept; the names come from the wire. */
const MAX_ACCESSORS = 1000;

function accessor(name: string): PropertyDescriptor {
  let found = accessors.get(name);
  if (found === undefined) {
    found = {
      enumerable: true,
      configurable: true,
      get(this: Unread): JsonValue {
        return this[UNREAD](name);
      },
      set(this: Unread, value: JsonValue): void {
        this[UNREAD](name, [value]);
      },
    };
    if (accessors.size < MAX_ACCESSORS) accessors.set(name, found);
  }
  return found;
}

function lazyObject(text: string, members: Members, report?: Report): JsonObject {
  const object: JsonObject = {};
  const parts = new Map<string, Member | Value>();
  for (const member of members) {
    const [name, start, end] = member;
    if (end - start < LAZY_FROM) {
      define(object, name, part(text, start, end, report));
    } else {
      parts.set(name, member);
      Object.defineProperty(object, name, accessor(name));
    }
  }
  const unread = (name: string, given?: Value): JsonValue => {
    let found = given ?? (parts.get(name) as Member | Value);
    if (found.length > 1) {
      const [, start, end, inner] = found as Member;
      found = [inner ? lazyObject(text, inner, report) : long(text, start, end, report)];
    }
    parts.set(name, found as Value);
    return found[0];
  };
  if (parts.size > 0) Object.defineProperty(object, UNREAD, { value: unread, configurable: true });
  return object;
}

function define(object: JsonObject, name: string, value: JsonValue): JsonValue {
  if (name === "__proto__" || Object.hasOwn(object, name)) {
    Object.defineProperty(object, name, { enumerable: true, configurable: true, writable: true, value });
  } else {
    object[name] = value;
  }
  return value;
}

function part(text: string, start: number, end: number, report?: Report): JsonValue {
  const raw = text.slice(start, end);
  let value: JsonValue;
  try {
    value = parse(raw);
  } catch (error) {
    throw new DecodeError(reason(text, error), text);
  }
  return look(value, raw, report);
}

/** A long value below the levels that were scanned with the line. */
function long(text: string, start: number, end: number, report?: Report): JsonValue {
  const isObject = text.charCodeAt(start) === 0x7b;
  return isObject ? parseObject(text.slice(start, end), undefined, "", report) : part(text, start, end, report);
}

function nameOf(value: JsonValue): string {
  return value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

function reason(text: string, error: unknown): string {
  if (text.trim() === "") return "the text is blank";
  return error instanceof Error ? error.message : String(error);
}
