/**
 * Finding the members of an object without parsing their values.
 *
 * One pass over the text: strings are skipped with the platform's own search, which is many times
 * faster than looking at each character.
 */

/** How deep brackets may nest, in levels: as in the other languages. Deeper text is refused. */
export const MAX_DEPTH = 127;

/** A member: its name, where its value starts and ends, and the members of a long value that is an object. */
export type Member = [name: string, start: number, end: number, inner: Members | undefined];

/** The members of an object in order; of two with the same name the last counts. */
export type Members = Member[];

/** Values of this length that are objects are looked into as well, one level deep. */
const INNER_FROM = 4096;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Strings of this length, in UTF-16 units, are remembered. */
const REMEMBERED_FROM = 1024;
const REMEMBERED_TO = 1 << 20;

/** Strings are remembered of lines that are at most this many times longer: what is remembered keeps its line in memory. */
const OF_ITS_LINE = 4;

/** How many strings are remembered: an answer has few blocks that are long. */
const REMEMBERED = 4;

/**
 * The long strings of the lines before. Each update of a growing answer has all of it, once or twice: what a string has in
 * common with one that was looked through before need not be looked through again, and comparing is faster.
 */
export class Seen {
  /** What stands between the quotes, the last one first. */
  readonly #strings: string[] = [];

  /** How much is kept in memory, in UTF-16 units: a string is a part of its line, which stays as long as it does. */
  get most(): number {
    return this.#strings.reduce((sum, { length }) => sum + length * OF_ITS_LINE, 0);
  }

  /** Where to look on for the end of the string that begins there: behind what is known. */
  skip(text: string, start: number): number {
    for (const known of this.#strings) {
      const end = start + known.length;
      const last = known.length - 1;
      if (end >= text.length || text.charCodeAt(end - 1) !== known.charCodeAt(last)) continue;
      if (text.charCodeAt(start) === known.charCodeAt(0) && text.slice(start, end) === known) return end;
    }
    return start;
  }

  /** A string was looked through, of which that much was known. */
  add(text: string, start: number, skipped: number, end: number): void {
    if (end - start < REMEMBERED_FROM || end - start > REMEMBERED_TO) return;
    if (text.length > (end - start) * OF_ITS_LINE) return;
    const strings = this.#strings;
    if (skipped === end && strings[0]?.length === end - start) return;
    // What it grew from takes no place of its own.
    const at = skipped === start ? -1 : strings.findIndex((known) => known.length === skipped - start);
    if (at >= 0) strings.splice(at, 1);
    else if (strings.length === REMEMBERED) strings.pop();
    strings.unshift(text.slice(start, end));
  }
}

/** The members of the object that the text is; where it is none, why not. `seen` has what was read before it. */
export function scanMembers(text: string, seen?: Seen): Members | string {
  const scanner = new Scanner(text, seen);
  try {
    return scanner.document();
  } catch (error) {
    if (error instanceof Malformed) return error.reason;
    throw error;
  }
}

class Malformed {
  constructor(readonly reason: string) {}
}

class Scanner {
  at = 0;

  constructor(
    readonly text: string,
    readonly seen: Seen | undefined,
  ) {}

  document(): Members {
    this.space();
    if (this.at >= this.text.length) throw new Malformed("the text is blank");
    if (this.text.charCodeAt(this.at) !== OPEN_BRACE) throw new Malformed("expected an object");
    const members = this.members(1);
    this.space();
    if (this.at < this.text.length) throw new Malformed(`text after the object at ${this.at}`);
    return members;
  }

  /** Reads the members of the object that begins here, and is the first or second one of its line. */
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
      // Whether an object is long shows only at its end, so those that may be are read as such.
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
      throw new Malformed(`expected a name at ${start}`);
    }
  }

  /** Skips the value that begins here, within that many brackets. Only its brackets and strings are looked at. */
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
          if (++depth + outer > MAX_DEPTH) throw new Malformed(`nested deeper than ${MAX_DEPTH} levels at ${this.at}`);
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
          if (Number.isNaN(unit)) throw new Malformed("the object does not end");
          if (unit <= 0x20) this.at++;
          else this.scalar();
      }
      if (depth === 0) return;
    }
  }

  /** Skips a number, `true`, `false` or `null`: what it is shows when it is parsed. */
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

  /** Skips the string that begins here. */
  string(): void {
    const { text, seen } = this;
    const start = this.at + 1;
    // A remembered string ends at the end of an escape, if at one at all.
    const skipped = seen === undefined ? start : seen.skip(text, start);
    let at = skipped;
    for (;;) {
      at = text.indexOf('"', at);
      if (at < 0) throw new Malformed("the object does not end");
      let backslashes = 0;
      while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
      at++;
      if (backslashes % 2 === 0) break;
    }
    seen?.add(text, start, skipped, at - 1);
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
    if (this.at >= this.text.length) throw new Malformed("the object does not end");
    throw new Malformed(`expected ${what} at ${this.at}`);
  }
}
