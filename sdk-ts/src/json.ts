/** JSON parsing and writing. Lone surrogates are replaced, and members of long objects are parsed lazily. */

import { DecodeError } from "./error.js";
import type { JsonObject, JsonValue } from "./generated/types.js";
import { MAX_DEPTH, type Member, type Members, type StringCache, scanMembers } from "./scan.js";

/** Objects of at least this length in UTF-16 units are parsed lazily. */
export const LAZY_FROM = 4096;

/**
 * Parses JSON text. Lone surrogates, which only escapes can express, become U+FFFD.
 *
 * Fails with the error of `JSON.parse`.
 */
export function parse(text: string, source: Source = DEFAULT_SOURCE): JsonValue {
  const value = JSON.parse(text) as JsonValue;
  return source.mayEscape && text.includes("\\u") && /\\u[dD][89a-fA-F]/.test(text) ? (replaceLoneSurrogates(value) as JsonValue) : value;
}

/** Properties of a line, known before parsing. */
export interface Source {
  /** `true` if the line may contain a `\u` escape. */
  readonly mayEscape: boolean;
  /** Long strings of the preceding lines. */
  readonly stringCache?: StringCache;
}

/** Properties of a text about which nothing is known. */
const DEFAULT_SOURCE: Source = { mayEscape: true };

/** Writes a value as JSON in one line. Replaces lone surrogates by U+FFFD. */
export function stringify(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  // `JSON.stringify` writes a surrogate as an escape only if it is a lone one.
  return text.includes("\\ud") ? (JSON.stringify(replaceLoneSurrogates(value)) ?? "null") : text;
}

/** Returns the JSON text of a member: the original text if parsing and writing could change it. */
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
 * Parses a line as one JSON object.
 *
 * Members of long objects are parsed at the first access, at every level. Each is an own, enumerable member,
 * so copying and `JSON.stringify` work.
 *
 * Fails with a {@link DecodeError}; for a malformed member of a long object, at the first access.
 *
 * `source` contains the known properties of the line. `members` are the scanned members of a long line.
 * `report` receives, for each value, the first number that no double represents.
 */
export function parseObject(text: string, source?: Source, members: Members | string = "", report?: NumberReporter): JsonObject {
  if (text.length < LAZY_FROM) {
    let value: JsonValue;
    try {
      value = parse(text, source);
    } catch (error) {
      throw new DecodeError(reason(text, error), text);
    }
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return checkValue(value, text, report) as JsonObject;
    }
    throw new DecodeError(`expected an object, found ${nameOf(value)}`, text);
  }
  const found = members || scanMembers(text, source?.stringCache);
  if (typeof found === "string") throw new DecodeError(found, text);
  return lazyObject(text, found, report);
}

/** Receives the text of an inexact number. */
export type NumberReporter = (number: string) => void;

/**
 * Checks the nesting depth of a value, and reports its first inexact number. Returns the value; numbers that
 * exceed every double are replaced by the largest double.
 */
function checkValue(value: JsonValue, text: string, report: NumberReporter | undefined): JsonValue {
  if (!hasLarge(value, 0, text)) return value;
  const inexact = [...text.matchAll(NUMBERS)].flatMap(([, number]) => number ?? []).find((number) => !isExact(number));
  if (inexact === undefined) return value;
  report?.(inexact);
  return parse(text.replace(NUMBERS, (match) => (/^-?\d/.test(match) && !isFinite(+match) ? `${match[0] === "-" ? "-" : ""}${Number.MAX_VALUE}` : match)));
}

/**
 * Returns `true` if the value may contain a number that a double cannot represent. `depth` is the number of
 * enclosing brackets.
 */
function hasLarge(value: JsonValue, depth: number, text: string): boolean {
  if (typeof value === "number") return !(value <= Number.MAX_SAFE_INTEGER && value >= -Number.MAX_SAFE_INTEGER);
  if (typeof value !== "object" || value === null) return false;
  if (depth === MAX_DEPTH) throw new DecodeError(`nested deeper than ${MAX_DEPTH} levels`, text);
  let isLarge = false;
  if (Array.isArray(value)) for (const item of value) isLarge = hasLarge(item, depth + 1, text) || isLarge;
  else for (const name in value) isLarge = hasLarge(value[name] as JsonValue, depth + 1, text) || isLarge;
  return isLarge;
}

/** Matches each number of a JSON text in a group, and each string without a group. */
const NUMBERS = /"(?:[^"\\]|\\.)*"|(-?\d[-+.\deE]*)/g;

function isExact(number: string): boolean {
  const value = Number(number);
  return Number.isFinite(value) && (/[.eE]/.test(number) || BigInt(number) === BigInt(value));
}

/**
 * Key under which an object holds a function for its unparsed members. The function returns the value of a
 * member, or sets it. It is a symbol instead of a private name, so that the proxies of frameworks can access
 * it.
 */
const PARSE_MEMBER = Symbol("unread");

/** Parsed or assigned value. */
type ParsedValue = [value: JsonValue];

interface LazyObject extends JsonObject {
  [PARSE_MEMBER](name: string, given?: ParsedValue): JsonValue;
}

/**
 * Accessors of members by name, shared by all objects. JavaScript engines keep accessors for a long time, and
 * an accessor for a single object would keep the text of that object in memory.
 */
const accessors = new Map<string, PropertyDescriptor>();

/** Maximum number of accessors, because the names come from received frames. */
const MAX_ACCESSORS = 1000;

function accessor(name: string): PropertyDescriptor {
  let found = accessors.get(name);
  if (found === undefined) {
    found = {
      enumerable: true,
      configurable: true,
      get(this: LazyObject): JsonValue {
        return this[PARSE_MEMBER](name);
      },
      set(this: LazyObject, value: JsonValue): void {
        this[PARSE_MEMBER](name, [value]);
      },
    };
    if (accessors.size < MAX_ACCESSORS) accessors.set(name, found);
  }
  return found;
}

function lazyObject(text: string, members: Members, report?: NumberReporter): JsonObject {
  const object: JsonObject = {};
  const parts = new Map<string, Member | ParsedValue>();
  for (const member of members) {
    const [name, start, end] = member;
    if (end - start < LAZY_FROM) {
      define(object, name, parsePart(text, start, end, report));
    } else {
      parts.set(name, member);
      Object.defineProperty(object, name, accessor(name));
    }
  }
  const parseMember = (name: string, given?: ParsedValue): JsonValue => {
    let found = given ?? (parts.get(name) as Member | ParsedValue);
    if (found.length > 1) {
      const [, start, end, inner] = found as Member;
      found = [inner ? lazyObject(text, inner, report) : parseLong(text, start, end, report)];
    }
    parts.set(name, found as ParsedValue);
    return found[0];
  };
  if (parts.size > 0) Object.defineProperty(object, PARSE_MEMBER, { value: parseMember, configurable: true });
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

function parsePart(text: string, start: number, end: number, report?: NumberReporter): JsonValue {
  const raw = text.slice(start, end);
  let value: JsonValue;
  try {
    value = parse(raw);
  } catch (error) {
    throw new DecodeError(reason(text, error), text);
  }
  return checkValue(value, raw, report);
}

/** Parses a long value that is nested below the scanned levels. */
function parseLong(text: string, start: number, end: number, report?: NumberReporter): JsonValue {
  const isObject = text.charCodeAt(start) === 0x7b;
  return isObject ? parseObject(text.slice(start, end), undefined, "", report) : parsePart(text, start, end, report);
}

function nameOf(value: JsonValue): string {
  return value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

function reason(text: string, error: unknown): string {
  if (text.trim() === "") return "the text is blank";
  return error instanceof Error ? error.message : String(error);
}
