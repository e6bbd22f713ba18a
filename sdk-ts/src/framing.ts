/**
 * Lines in and out of a byte stream, the way every dialect frames its JSON.
 *
 * Only LF ends a line. One CR before it is dropped; every other separator that Unicode knows
 * (U+2028, U+2029, U+0085, a bare CR) is data, because JSON strings may hold it. Each line is
 * checked as UTF-8 on its own, so that one bad line costs one error and never the stream.
 *
 * Of short lines, bytes become text in large pieces and lines are cut from the text: one decoding of many lines is many
 * times faster than one of each. The bytes of a long line are put together in memory that is used again, and become text once.
 */

import { AgentError } from "./error.js";
import { maySeal } from "./redact.js";
import { Seen } from "./scan.js";
import { asciiText, indexOf, lastIndexOf, validUpTo } from "./utf8.js";

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
    /**
     * How the line begins.
     *
     * @internal
     */
    readonly head: string = "",
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

/** From this length on, in bytes, a line is made of its own bytes; of shorter ones many are cut from one text. */
const LONG = 4096;

/** How much of a line that is not delivered is kept, in bytes: enough for its type and its id. */
const HEAD = 1024;

/** Memory for a line that grew beyond this, in bytes, is not kept. */
const KEPT = 1 << 20;

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
  /** The bytes of the line that has not ended yet, in memory that is used again. */
  #tail = NOTHING;
  /** How many they are. */
  #held = 0;
  /** The line was too long and has been reported: everything up to its LF is thrown away. */
  #discarding = false;
  /** How many bytes of the stream have been taken, those that are held not counted. */
  #taken = 0;
  /** No line has been seen yet: a byte order mark may come. */
  #atStart = true;
  /** The text that lines are being cut from. */
  #text = "";
  /** Whether that text has an escape; open until somebody asks, true where nothing is known. */
  #escapes: boolean | undefined = true;
  /** Whether it has what may be sealed, likewise. */
  #seals: boolean | undefined = true;

  constructor(options: FramerOptions = {}) {
    this.#maxLine = options.maxLine ?? DEFAULT_MAX_LINE;
    this.#keepBom = options.keepBom ?? false;
  }

  /** How many bytes of the stream have been taken. */
  get offset(): number {
    return this.#taken + this.#held;
  }

  /** How many bytes of an unfinished line are held. */
  get buffered(): number {
    return this.#held;
  }

  /**
   * Whether the line that a sink is being handed may have a `\u` escape in it. One search for all lines
   * of a chunk takes a tenth of the time that a search of each takes.
   */
  get mayEscape(): boolean {
    return (this.#escapes ??= this.#text.includes("\\u"));
  }

  /** As `mayEscape`: whether the line may be a frame of which nothing is shown but its type. */
  get maySeal(): boolean {
    return (this.#seals ??= maySeal(this.#text));
  }

  /** Takes the next bytes of the stream and hands each line that they end to the sink, in order. */
  push(chunk: Uint8Array, sink: LineSink): void {
    let isText = true;
    for (let start = 0; ; ) {
      const at = indexOf.call(chunk, LF, start);
      if (at < 0) {
        this.#hold(chunk.subarray(start), sink);
        return;
      }
      const begun = this.#held > 0 || this.#discarding;
      if (isText && !begun && !this.#atStart && at - start < LONG) {
        const end = lastIndexOf.call(chunk, LF);
        isText = this.#cut(chunk.subarray(start, end), sink);
        if (isText) {
          start = end + 1;
          continue;
        }
      }
      let line = chunk.subarray(start, at);
      if (begun) {
        this.#hold(line, sink);
        line = this.#tail.subarray(0, this.#held);
      }
      if (!this.#discarding) this.#deliver(line, true, sink);
      this.#discarding = false;
      this.#taken++;
      start = at + 1;
    }
  }

  /**
   * Ends the stream: a last line without LF is delivered. The framer then stands at the start of a
   * new stream. Says whether there was such a line.
   */
  finish(sink: LineSink): boolean {
    const unterminated = this.#discarding || this.#held > 0;
    if (this.#held > 0) this.#deliver(this.#tail.subarray(0, this.#held), false, sink);
    this.#taken = 0;
    this.#discarding = false;
    this.#atStart = true;
    return unterminated;
  }

  /** Hands out short lines, of which the last one lacks its LF. Says false where it has to be done line by line. */
  #cut(lines: Uint8Array, sink: LineSink): boolean {
    if (lines.length > this.#maxLine) return false;
    let text: string;
    try {
      text = this.#decode(lines);
    } catch {
      return false;
    }
    this.#taken += lines.length + 1;
    this.#text = text;
    this.#escapes = this.#seals = undefined;
    for (let start = 0, at = 0; at >= 0; start = at + 1) {
      at = text.indexOf("\n", start);
      const end = at < 0 ? text.length : at;
      sink.line(text.slice(start, text.charCodeAt(end - 1) === CR ? end - 1 : end));
    }
    this.#text = "";
    this.#escapes = this.#seals = true;
    return true;
  }

  /** Keeps bytes of a line that has not ended, or throws it away where it is too long. */
  #hold(part: Uint8Array, sink: LineSink): void {
    if (part.length === 0) return;
    const held = this.#held + part.length;
    if (this.#discarding) {
      this.#taken += part.length;
    } else if (held > this.#maxLine && !(held - 1 === this.#maxLine && part.at(-1) === CR)) {
      // The CR may be the one before its LF.
      this.#fault("too_long", this.#maxLine, sink, this.#tail.subarray(0, this.#held), part);
      this.#release(held);
      this.#discarding = true;
    } else {
      if (held > this.#tail.length) {
        const more = new Uint8Array(held * 2);
        more.set(this.#tail.subarray(0, this.#held));
        this.#tail = more;
      }
      this.#tail.set(part, this.#held);
      this.#held = held;
    }
  }

  /** Hands out one line, or says what is wrong with it. */
  #deliver(bytes: Uint8Array, terminated: boolean, sink: LineSink): void {
    const line = terminated && bytes.at(-1) === CR ? bytes.subarray(0, -1) : bytes;
    let text: string | undefined;
    // Length first, so that what is said of a line does not depend on how it was chunked.
    if (line.length > this.#maxLine) {
      this.#fault("too_long", this.#maxLine, sink, line);
    } else {
      try {
        text = this.#decode(line);
      } catch {
        this.#fault("invalid_utf8", validUpTo(line), sink, line);
      }
    }
    this.#release(bytes.length);
    if (text === undefined) return;
    if (this.#atStart && !this.#keepBom && text.startsWith(BOM)) text = text.slice(1);
    this.#atStart = false;
    sink.line(text);
  }

  #decode(bytes: Uint8Array): string {
    return asciiText(bytes) ?? this.#decoder.decode(bytes);
  }

  #fault(fault: "too_long" | "invalid_utf8", bytes: number, sink: LineSink, ...line: Uint8Array[]): void {
    this.#atStart = false;
    const head = line.map((part) => new TextDecoder().decode(part.subarray(0, HEAD)));
    sink.fault(new FramingError(fault, this.#taken, bytes, head.join("")));
  }

  /** So many bytes are a line that nothing is held of any more. */
  #release(bytes: number): void {
    this.#taken += bytes;
    this.#held = 0;
    if (this.#tail.length > KEPT) this.#tail = NOTHING;
  }
}
