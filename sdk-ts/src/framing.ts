/**
 * Lines in and out of a byte stream, the way every dialect frames its JSON.
 *
 * Only LF ends a line. One CR before it is dropped; every other separator that Unicode knows
 * (U+2028, U+2029, U+0085, a bare CR) is data, because JSON strings may hold it. Each line is
 * checked as UTF-8 on its own, so that one bad line costs one error and never the stream.
 *
 * Bytes become text in large pieces and lines are cut from the text: searching a string is many
 * times faster than searching a `Uint8Array`, and so is one decoding of a chunk than one per line.
 */

import { AgentError } from "./error.js";
import { Seen } from "./scan.js";
import { asciiText, completeEnd, utf8Length, validUpTo } from "./utf8.js";

/** The default limit for the length of a line, in bytes: 64 MiB. */
export const DEFAULT_MAX_LINE = 64 * 1024 * 1024;

/** Options of a framer. */
export interface FramerOptions {
  /** The longest line accepted, in bytes without its line end; 64 MiB by default. */
  readonly maxLine?: number | undefined;
  /** Whether a byte order mark at the start of the stream stays in the first line. */
  readonly keepBom?: boolean | undefined;
}

/** One line that could not be delivered. The stream goes on at the next line. */
export class FramingError extends AgentError {
  override readonly kind = "framing";

  constructor(
    /** What is wrong with the line. */
    readonly fault: "too_long" | "invalid_utf8",
    /** Where the line starts in the stream, in bytes. */
    readonly offset: number,
    /** The longest line accepted, in bytes; or how many bytes of the line are sound UTF-8. */
    readonly bytes: number,
  ) {
    super(
      fault === "too_long"
        ? `line at byte ${offset} is longer than ${bytes} bytes`
        : `line at byte ${offset} is not UTF-8 after ${bytes} bytes`,
    );
  }
}

/** Receives the lines of a framer. */
export interface LineSink {
  /** A line without its end. A blank line is empty text. */
  line(text: string): void;
  /** A line that could not be delivered. */
  fault(error: FramingError): void;
}

const LF = 0x0a;
const CR = 0x0d;
const BOM = "\ufeff";
const NOTHING = new Uint8Array(0);

/** A state machine from bytes to lines, however the bytes are chunked. */
export class Framer {
  /**
   * The long strings of its lines, for whoever reads them.
   *
   * @internal
   */
  readonly seen = new Seen();
  readonly #maxLine: number;
  readonly #keepBom: boolean;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** The text of the line that has not ended yet, as far as it is UTF-8. */
  #tail = "";
  /** How many bytes that line has, `#carry` not counted: a bound, or the number where `#exact`. */
  #bytes = 0;
  #exact = true;
  /** The last byte of the line, which may turn out to be the CR before its LF. */
  #last = 0;
  /** The beginning of a character whose end has not come yet: at most 3 bytes. */
  #carry: Uint8Array = NOTHING;
  /** Where the line was found not to be UTF-8, in bytes from its start. */
  #invalidAt: number | undefined;
  /** The line was too long and has been reported: everything up to its LF is thrown away. */
  #discarding = false;
  /** How many bytes of the stream have been taken, `#carry` not counted. */
  #taken = 0;
  /** No line has been seen yet: a byte order mark may come. */
  #atStart = true;
  /** The text that whole lines are being cut from. */
  #text = "";
  /** Whether that text has an escape; open until somebody asks, true where nothing is known. */
  #escapes: boolean | undefined = true;

  constructor(options: FramerOptions = {}) {
    this.#maxLine = options.maxLine ?? DEFAULT_MAX_LINE;
    this.#keepBom = options.keepBom ?? false;
  }

  /** How many bytes of the stream have been taken. */
  get offset(): number {
    return this.#taken + this.#carry.length;
  }

  /** How many bytes of an unfinished line are held, at most. */
  get buffered(): number {
    return this.#bytes + this.#carry.length;
  }

  /**
   * Whether the line that a sink is being handed may have a `\u` escape in it. One search for all lines
   * of a chunk takes a tenth of the time that a search of each takes.
   */
  get mayEscape(): boolean {
    return (this.#escapes ??= this.#text.includes("\\u"));
  }

  /** Takes the next bytes of the stream and hands each line that they end to the sink, in order. */
  push(chunk: Uint8Array, sink: LineSink): void {
    if (chunk.length === 0) return;
    let bytes = chunk;
    if (this.#carry.length > 0) {
      bytes = new Uint8Array(this.#carry.length + chunk.length);
      bytes.set(this.#carry);
      bytes.set(chunk, this.#carry.length);
      this.#carry = NOTHING;
    }
    if (this.#discarding || this.#invalidAt !== undefined) {
      this.#walk(bytes, sink);
      return;
    }
    const end = completeEnd(bytes);
    let text: string;
    try {
      const whole = end === bytes.length ? bytes : bytes.subarray(0, end);
      text = asciiText(whole) ?? this.#decoder.decode(whole);
    } catch {
      this.#walk(bytes, sink);
      return;
    }
    if (end < bytes.length) this.#carry = bytes.slice(end);
    if (this.#bytes + end > this.#maxLine) {
      this.#takeCounting(text, end, sink);
    } else {
      this.#take(text, end, sink);
    }
  }

  /**
   * Ends the stream: a last line without LF is delivered. The framer then stands at the start of a
   * new stream. Says whether there was such a line.
   */
  finish(sink: LineSink): boolean {
    const unterminated = this.#discarding || this.buffered > 0;
    if (!this.#discarding && unterminated) {
      const bytes = this.#count();
      if (this.#carry.length > 0) this.#invalidAt ??= bytes;
      this.#deliver(this.#tail, bytes + this.#carry.length, this.#taken - bytes, false, sink);
    }
    this.#reset();
    this.#carry = NOTHING;
    this.#taken = 0;
    this.#discarding = false;
    this.#atStart = true;
    return unterminated;
  }

  /** Takes text of that many bytes in which no line can be too long. */
  #take(text: string, byteLength: number, sink: LineSink): void {
    this.#taken += byteLength;
    let at = text.indexOf("\n");
    if (at < 0) {
      this.#tail += text;
      this.#bytes += byteLength;
      return;
    }
    let start = 0;
    if (this.#tail !== "" || this.#atStart) {
      this.#emit(this.#tail + text.slice(0, at), true, sink);
      start = at + 1;
      at = text.indexOf("\n", start);
    }
    this.#reset();
    this.#text = text;
    this.#escapes = undefined;
    for (; at >= 0; at = text.indexOf("\n", start)) {
      sink.line(text.slice(start, text.charCodeAt(at - 1) === CR ? at - 1 : at));
      start = at + 1;
    }
    this.#text = "";
    this.#escapes = true;
    this.#tail = text.slice(start);
    // Counting the bytes of text takes as long as decoding it: it is put off until it matters.
    this.#exact = text.length === byteLength;
    this.#bytes = this.#exact ? this.#tail.length : Math.min(this.#tail.length * 3, byteLength);
  }

  /** Takes text of that many bytes, counting the bytes of each line. */
  #takeCounting(text: string, byteLength: number, sink: LineSink): void {
    let left = byteLength;
    let start = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", start)) {
      const part = text.slice(start, at);
      const bytes = utf8Length(part);
      const offset = this.#taken - this.#count();
      this.#deliver(this.#tail + part, this.#count() + bytes, offset, true, sink);
      this.#reset();
      this.#taken += bytes + 1;
      left -= bytes + 1;
      start = at + 1;
    }
    this.#tail += text.slice(start);
    if (left > 0) this.#hold(left, text.charCodeAt(text.length - 1), sink);
  }

  /** Takes bytes of which some are not UTF-8, or belong to a line that is to be thrown away. */
  #walk(bytes: Uint8Array, sink: LineSink): void {
    let start = 0;
    while (start < bytes.length) {
      const at = bytes.indexOf(LF, start);
      const end = at < 0 ? bytes.length : at;
      this.#walkPart(bytes.subarray(start, end), at >= 0, sink);
      start = at < 0 ? end : end + 1;
    }
  }

  #walkPart(part: Uint8Array, terminated: boolean, sink: LineSink): void {
    const taken = terminated ? 1 : 0;
    if (this.#discarding) {
      this.#taken += part.length + taken;
      this.#discarding = !terminated;
      return;
    }
    let length = part.length;
    const before = this.#count();
    if (this.#invalidAt === undefined) {
      const end = terminated ? part.length : completeEnd(part);
      const sound = validUpTo(part.subarray(0, end));
      this.#tail += this.#decoder.decode(part.subarray(0, sound));
      if (sound < end) {
        this.#invalidAt = before + sound;
      } else if (end < part.length) {
        this.#carry = part.slice(end);
        length = end;
      }
    }
    if (length > 0) this.#last = part[length - 1] ?? 0;
    if (terminated) {
      this.#deliver(this.#tail, before + length, this.#taken - before, true, sink);
      this.#reset();
      this.#taken += length + 1;
    } else if (length > 0) {
      this.#hold(length, this.#last, sink);
    }
  }

  /** Notes that the unfinished line has grown, and throws it away where it is too long. */
  #hold(bytes: number, last: number, sink: LineSink): void {
    const before = this.#count(bytes);
    this.#bytes = before + bytes;
    this.#taken += bytes;
    this.#last = last;
    if (!this.#tooLong(this.#bytes, last === CR)) return;
    sink.fault(new FramingError("too_long", this.#taken - this.#bytes, this.#maxLine));
    this.#atStart = false;
    // What is carried over belongs to the line that is thrown away.
    this.#taken += this.#carry.length;
    this.#carry = NOTHING;
    this.#reset();
    this.#discarding = true;
  }

  /** How many bytes the unfinished line has, of which `fresh` are not counted yet. */
  #count(fresh = 0): number {
    if (!this.#exact) {
      this.#bytes = utf8Length(this.#tail) - fresh;
      this.#exact = true;
    }
    return this.#bytes;
  }

  /** Hands out one line of that many bytes, or says what is wrong with it. */
  #deliver(text: string, bytes: number, offset: number, terminated: boolean, sink: LineSink): void {
    const invalid = this.#invalidAt;
    const last = invalid === undefined ? text.charCodeAt(text.length - 1) : this.#last;
    // Length first, so that what is said of a line does not depend on how it was chunked.
    if (this.#tooLong(bytes, terminated && last === CR)) {
      sink.fault(new FramingError("too_long", offset, this.#maxLine));
      this.#atStart = false;
    } else if (invalid !== undefined) {
      sink.fault(new FramingError("invalid_utf8", offset, invalid));
      this.#atStart = false;
    } else {
      this.#emit(text, terminated, sink);
    }
  }

  #emit(text: string, terminated: boolean, sink: LineSink): void {
    let line = terminated && text.charCodeAt(text.length - 1) === CR ? text.slice(0, -1) : text;
    if (this.#atStart) {
      this.#atStart = false;
      if (!this.#keepBom && line.startsWith(BOM)) line = line.slice(1);
    }
    sink.line(line);
  }

  #tooLong(bytes: number, endsWithCr: boolean): boolean {
    return bytes > this.#maxLine && !(endsWithCr && bytes - 1 === this.#maxLine);
  }

  /** The next line begins. */
  #reset(): void {
    this.#tail = "";
    this.#bytes = 0;
    this.#exact = true;
    this.#last = 0;
    this.#invalidAt = undefined;
  }
}
