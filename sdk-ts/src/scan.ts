/**
 * Scanner that finds the members of an object without parsing their values.
 *
 * It passes over the text once. The platform's own search skips strings, which is many times faster than a
 * check of each character.
 */

/** Maximum nesting of brackets in levels, as in the other languages. Deeper text is rejected. */
export const MAX_DEPTH = 127;

/** Member: its name, start and end of its value, and the members of a long object value. */
export type Member = [name: string, start: number, end: number, inner: Members | undefined];

/** Members of an object in order. Among members with the same name, the last one applies. */
export type Members = Member[];

/** Length from which object values are scanned as well, one level deep. */
const INNER_FROM = 4096;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Minimum and maximum length of stored strings in UTF-16 units. */
const MIN_CACHED = 1024;
const MAX_CACHED = 1 << 20;

/**
 * Maximum ratio of the length of a line to the length of a string that is stored from it, because a stored
 * string keeps its whole line in memory.
 */
const MAX_LINE_RATIO = 4;

/** Maximum number of stored strings, since an answer has few long blocks. */
const CACHE_SIZE = 4;

/**
 * Long strings of the preceding lines. Each update of a growing answer contains its whole text once or twice.
 * The scanner compares the beginning with a stored string, which is faster than a second scan.
 */
export class StringCache {
  /** Strings without their quotes, newest first. */
  readonly #strings: string[] = [];

  /**
   * Approximate memory, in UTF-16 units. The sum counts whole lines, because a string keeps its line in
   * memory.
   */
  get size(): number {
    return this.#strings.reduce((sum, { length }) => sum + length * MAX_LINE_RATIO, 0);
  }

  /**
   * Returns the position after a stored string that begins at `start`, or otherwise `start` itself. The
   * search for the end of the string begins there.
   */
  skip(text: string, start: number): number {
    for (const known of this.#strings) {
      const end = start + known.length;
      const last = known.length - 1;
      if (end >= text.length || text.charCodeAt(end - 1) !== known.charCodeAt(last)) continue;
      if (text.charCodeAt(start) === known.charCodeAt(0) && text.slice(start, end) === known) return end;
    }
    return start;
  }

  /** Stores a scanned string, of which the part up to `skipped` was known. */
  add(text: string, start: number, skipped: number, end: number): void {
    if (end - start < MIN_CACHED || end - start > MAX_CACHED) return;
    if (text.length > (end - start) * MAX_LINE_RATIO) return;
    const strings = this.#strings;
    if (skipped === end && strings[0]?.length === end - start) return;
    // A longer string replaces the stored string that it begins with.
    const at = skipped === start ? -1 : strings.findIndex((known) => known.length === skipped - start);
    if (at >= 0) strings.splice(at, 1);
    else if (strings.length === CACHE_SIZE) strings.pop();
    strings.unshift(text.slice(start, end));
  }
}

/**
 * Returns the members of the object in a text, or the error if the text is not an object. `stringCache`
 * contains long strings of earlier lines.
 */
export function scanMembers(text: string, stringCache?: StringCache): Members | string {
  const scanner = new Scanner(text, stringCache);
  try {
    return scanner.document();
  } catch (error) {
    if (error instanceof ScanError) return error.reason;
    throw error;
  }
}

class ScanError {
  constructor(readonly reason: string) {}
}

class Scanner {
  at = 0;

  constructor(
    readonly text: string,
    readonly stringCache: StringCache | undefined,
  ) {}

  document(): Members {
    this.space();
    if (this.at >= this.text.length) throw new ScanError("the text is blank");
    if (this.text.charCodeAt(this.at) !== OPEN_BRACE) throw new ScanError("expected an object");
    const members = this.members(1);
    this.space();
    if (this.at < this.text.length) throw new ScanError(`text after the object at ${this.at}`);
    return members;
  }

  /** Reads the members of an object that is at the first or second level of its line. */
  members(outer: number): Members {
    const { text } = this;
    const members: Members = [];
    this.at++;
    this.space();
    if (text.charCodeAt(this.at) === CLOSE_BRACE) {
      this.at++;
      return members;
    }
    for (;;) {
      if (text.charCodeAt(this.at) !== QUOTE) this.expected("a name");
      const nameStart = this.at;
      this.string();
      const name = this.name(nameStart);
      this.space();
      if (text.charCodeAt(this.at) !== 0x3a) this.expected("`:`");
      this.at++;
      this.space();
      const start = this.at;
      // The length of an object is unknown before its end. So every object that may be long is scanned.
      const looks = outer === 1 && text.charCodeAt(start) === OPEN_BRACE && text.length - start >= INNER_FROM;
      const inner = looks ? this.members(2) : undefined;
      if (!looks) this.value(outer);
      members.push([name, start, this.at, inner]);
      this.space();
      const next = text.charCodeAt(this.at);
      if (next !== 0x2c && next !== CLOSE_BRACE) this.expected("`,` or `}`");
      this.at++;
      if (next === CLOSE_BRACE) return members;
      this.space();
    }
  }

  name(start: number): string {
    const raw = this.text.slice(start, this.at);
    if (!raw.includes("\\")) return raw.slice(1, -1);
    try {
      return JSON.parse(raw) as string;
    } catch {
      throw new ScanError(`expected a name at ${start}`);
    }
  }

  /** Skips a value at the given nesting depth. Only its brackets and strings are inspected. */
  value(outer: number): void {
    const { text } = this;
    let depth = 0;
    for (;;) {
      const unit = text.charCodeAt(this.at);
      switch (unit) {
        case QUOTE:
          this.string();
          break;
        case OPEN_BRACE:
        case 0x5b:
          if (++depth + outer > MAX_DEPTH) throw new ScanError(`nested deeper than ${MAX_DEPTH} levels at ${this.at}`);
          this.at++;
          continue;
        case CLOSE_BRACE:
        case 0x5d:
          if (depth === 0) this.expected("a value");
          depth--;
          this.at++;
          break;
        case 0x2c:
        case 0x3a:
          if (depth === 0) this.expected("a value");
          this.at++;
          continue;
        default:
          if (Number.isNaN(unit)) throw new ScanError("the object does not end");
          if (unit <= 0x20) this.at++;
          else this.scalar();
      }
      if (depth === 0) return;
    }
  }

  /** Skips a number, `true`, `false` or `null`. Parsing validates it later. */
  scalar(): void {
    const { text } = this;
    const start = this.at;
    for (; this.at < text.length; this.at++) {
      const unit = text.charCodeAt(this.at);
      const word = (unit >= 0x30 && unit <= 0x39) || (unit >= 0x61 && unit <= 0x7a);
      if (!word && unit !== 0x2b && unit !== 0x2d && unit !== 0x2e && unit !== 0x45) break;
    }
    if (this.at === start) this.expected("a value");
  }

  /** Skips a string. */
  string(): void {
    const { text, stringCache } = this;
    const start = this.at + 1;
    // A stored string never ends within an escape sequence.
    const skipped = stringCache === undefined ? start : stringCache.skip(text, start);
    let at = skipped;
    for (;;) {
      at = text.indexOf('"', at);
      if (at < 0) throw new ScanError("the object does not end");
      let backslashes = 0;
      while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
      at++;
      if (backslashes % 2 === 0) break;
    }
    stringCache?.add(text, start, skipped, at - 1);
    this.at = at;
  }

  space(): void {
    const { text } = this;
    for (;;) {
      const unit = text.charCodeAt(this.at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
      this.at++;
    }
  }

  expected(what: string): never {
    if (this.at >= this.text.length) throw new ScanError("the object does not end");
    throw new ScanError(`expected ${what} at ${this.at}`);
  }
}
