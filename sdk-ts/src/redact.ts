/** Redaction of keys in text, before any observer receives the text. */

import { ENVELOPES, KEYS, type KeyShape, MEMBERS, REDACTED, SECRET_EVENTS, SUFFIX_LENGTH } from "./generated/secrets.js";
import { type Members, scanMembers } from "./scan.js";

export { REDACTED };

/** Pattern of keys. Its group is a scheme before the key, which is not redacted. */
const KEY = new RegExp(`(?<![A-Za-z0-9])(?:${KEYS.map((shape) => pattern(shape, `{${shape.rest},}`)).join("|")})`, "g");

/** Pattern of an incomplete key at the end of a text that was cut. */
const CUT_KEY = new RegExp(`(?<![A-Za-z0-9])(?:${KEYS.map((shape) => pattern(shape, "+$")).join("|")})`, "g");

/** Pattern of the beginnings of keys, for a quick test, because most texts contain no key. */
const BEGINNINGS = new RegExp(KEYS.map(beginning).join("|"));

/**
 * Returns a frame with all keys replaced: values of members that hold keys, and texts with the form of a
 * key. If `isCut` is `true`, the frame may be cut, and an incomplete key at its end is replaced too.
 */
export function redact(frame: string, isCut = false): string {
  const shown = stripPayload(frame);
  if (shown !== undefined) return shown;
  let out = "";
  let copied = 0;
  /**
   * Number of open brackets inside the value of a member that holds a key; `undefined` outside such a value.
   */
  let depth: number | undefined;
  let at = 0;
  for (;;) {
    const quote = frame.indexOf('"', at);
    if (depth !== undefined) depth = depthAfter(frame, at, quote < 0 ? frame.length : quote, depth);
    if (quote < 0) break;
    const end = stringEnd(frame, quote + 1);
    const text = frame.slice(quote + 1, end);
    at = end + 1;
    while (frame[at] === " " || frame[at] === "\t") at++;
    if (frame[at] === ":") {
      at++;
      if (depth === undefined && holdsKey(unescaped(text))) depth = 0;
      continue;
    }
    const plain = depth !== undefined && text !== "" ? REDACTED : stringWithoutKeys(text, isCut && end === frame.length);
    if (plain !== text) {
      out += frame.slice(copied, quote + 1) + plain;
      copied = end;
    }
    if (depth === 0) depth = undefined;
  }
  return copied === 0 ? frame : out + frame.slice(copied);
}

/**
 * Returns `true` if the frame may be one whose payload must be hidden: the text contains such a type, or an
 * escape that may be part of one.
 */
export function mayStripPayload(text: string): boolean {
  return text.includes("\\u00") || QUOTED.some((type) => text.includes(type));
}

/** Types of the frames whose payload must be hidden, as JSON strings. */
const QUOTED = SECRET_EVENTS.map((type) => `"${type}"`);

/**
 * Returns the frame reduced to its type if only the type may be shown; `undefined` for any other frame.
 * `members` are its scanned members.
 */
export function stripPayload(frame: string, members?: Members | string): string | undefined {
  const types = members || mayStripPayload(frame) ? typesIn(frame, true, members) : [];
  const type = SECRET_EVENTS.find((type) => types?.includes(type) ?? plainLetters(frame).includes(`"${type}"`));
  if (type === undefined) return undefined;
  const outer = types?.at(-1);
  const envelope = ENVELOPES.find((member) => member === outer);
  return JSON.stringify(envelope === undefined ? { type } : { type: envelope, [envelope]: { type } });
}

/** Decodes escaped letters, because an escaped type is equal to a plain one. */
function plainLetters(frame: string): string {
  return frame.replace(/\\u00([4-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

/**
 * Returns the types in a frame: first the types inside envelopes; several types of one object in their
 * order. Returns `undefined` for an incomplete or malformed frame, whose text is then searched instead.
 */
function typesIn(text: string, isFrame: boolean, members = scanMembers(text)): unknown[] | undefined {
  if (typeof members === "string") return undefined;
  const [types, inner]: [unknown[], unknown[]] = [[], []];
  for (const [name, from, to] of members) {
    if (name === "type") {
      try {
        types.push(JSON.parse(text.slice(from, to)));
      } catch {
        return undefined;
      }
    } else if (isFrame && text[from] === "{" && ENVELOPES.includes(name)) {
      const found = typesIn(text.slice(from, to), false);
      if (found === undefined) return undefined;
      inner.push(...found);
    }
  }
  return [...inner, ...types];
}

/** Returns plain text, without JSON escapes, with all keys replaced. */
export function redactText(text: string): string {
  return withoutKeys(text, false);
}

/** Returns `true` if a member of that name holds a key. */
export function holdsKey(name: string): boolean {
  const plain = name.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
  return MEMBERS.some((member) => plain === member || (member.length >= SUFFIX_LENGTH && plain.endsWith(member)));
}

/** Returns a string of a frame without its keys. If a key contains escapes, the whole string is replaced. */
function stringWithoutKeys(text: string, isCut: boolean): string {
  const shown = withoutKeys(text, true, isCut);
  if (!text.includes("\\")) return shown;
  const plain = unescaped(text);
  const expected = withoutKeys(plain, false, isCut);
  return expected === plain || unescaped(shown) === expected ? shown : REDACTED;
}

/** Decodes the escapes of a string. An invalid escape is replaced by its letter. */
function unescaped(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|u[0-9a-fA-F]{0,3}|([^]?))/g, (_, code?: string, letter?: string) =>
    code === undefined ? (LETTERS[letter ?? ""] ?? letter ?? "") : String.fromCharCode(parseInt(code, 16)),
  );
}

const LETTERS: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function withoutKeys(text: string, isEscaped: boolean, isCut = false): string {
  if (!BEGINNINGS.test(text)) return text;
  // The letter of an escape is not part of the following text: `\nsk-…` contains a key.
  const parts = isEscaped && text.includes("\\") ? text.split(/(\\(?:u[0-9a-fA-F]{0,4}|.))/) : [text];
  const replaced = (part: string, key: RegExp): string =>
    part.replace(key, (_, scheme: unknown) => (typeof scheme === "string" ? scheme : "") + REDACTED);
  const shown = parts.map((part, at) => {
    const whole = replaced(part, KEY);
    return isCut && at === parts.length - 1 ? replaced(whole, CUT_KEY) : whole;
  });
  return shown.join("");
}

/**
 * Returns the bracket depth after the text between two strings; `undefined` if the value that holds a key
 * ends there.
 */
function depthAfter(frame: string, from: number, to: number, depth: number): number | undefined {
  for (let at = from; at < to; at++) {
    const unit = frame[at];
    if (unit === "{" || unit === "[") depth++;
    else if (unit === "}" || unit === "]") depth--;
    else if (unit === "," && depth === 0) return undefined;
    if (depth < 0 || (depth === 0 && (unit === "}" || unit === "]"))) return undefined;
  }
  return depth;
}

function stringEnd(frame: string, from: number): number {
  let end = frame.indexOf('"', from);
  while (end >= 0) {
    let backslashes = 0;
    while (end - 1 - backslashes >= from && frame[end - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return end;
    end = frame.indexOf('"', end + 1);
  }
  return frame.length;
}

function pattern(shape: KeyShape, times: string): string {
  const rest = `[A-Za-z0-9_${literal(shape.also)}-]${times}`;
  return shape.scheme ? `(${beginning(shape)})${rest}` : beginning(shape) + rest;
}

/** Returns a pattern for the beginning of a key. The case of schemes does not matter. */
function beginning({ prefix, scheme }: KeyShape): string {
  return scheme ? literal(prefix).replace(/[A-Za-z]/g, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`) : literal(prefix);
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/~=]/g, "\\$&");
}
