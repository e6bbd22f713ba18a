/**
 * Framing of JSON lines, common to all dialects.
 *
 * Only LF ends a line. One CR before it is dropped. Every other Unicode separator (U+2028, U+2029, U+0085, a
 * bare CR) is data, because JSON strings may contain it. Each line is validated as UTF-8 on its own, so that
 * a bad line causes one error and reading continues.
 *
 * Short lines are decoded together and cut from the text, because one decoding of many lines is many times
 * faster. The bytes of a long line are collected in reusable memory and decoded once.
 */

import { AgentError } from "./error.js";
import { mayStripPayload } from "./redact.js";
import { StringCache } from "./scan.js";
import { asciiText, indexOf, lastIndexOf, validUpTo } from "./utf8.js";

/** Default limit of a line in bytes: 64 MiB. */
export const DEFAULT_MAX_LINE = 64 * 1024 * 1024;

/** Options of a framer. */
export interface FramerOptions {
  /** Limit of a line in bytes without its line end; 64 MiB by default. */
  readonly maxLine?: number | undefined;
  /** Keeps a byte order mark at the start of the stream in the first line. */
  readonly keepBom?: boolean | undefined;
}

/** Line that could not be delivered. The stream continues at the next line. */
export class FramingError extends AgentError {
  override readonly kind = "framing";

  constructor(
    /** Kind of the error. */
    readonly reason: "too_long" | "invalid_utf8",
    /** Offset of the line in the stream, in bytes. */
    readonly offset: number,
    /** Limit of a line in bytes, or the number of valid UTF-8 bytes in the line. */
    readonly bytes: number,
    /**
     * Beginning of the line.
     *
     * @internal
     */
    readonly head: string = "",
  ) {
    super(
      reason === "too_long"
        ? `line at byte ${offset} is longer than ${bytes} bytes`
        : `line at byte ${offset} is not UTF-8 after ${bytes} bytes`,
    );
  }
}

/** Receiver of the lines of a framer. */
export interface LineSink {
  /** Receives a line without its end. A blank line is empty text. */
  line(text: string): void;
  /** Receives the error of a line that could not be delivered. */
  error(error: FramingError): void;
}

const LF = 0x0a;
const CR = 0x0d;
const BOM = "\ufeff";
const EMPTY = new Uint8Array(0);

/** Lines of at least this many bytes are decoded alone, shorter ones in groups. */
const LONG_LINE = 4096;

/** Number of retained bytes of a rejected line, enough for its type and its id. */
const MAX_HEAD = 1024;

/** Limit of the retained memory for a line in bytes. */
const MAX_RETAINED = 1 << 20;

/** State machine from bytes to lines, independent of the chunking. */
export class Framer {
  /**
   * Long strings of the lines, for their readers.
   *
   * @internal
   */
  readonly stringCache = new StringCache();
  readonly #maxLine: number;
  readonly #keepBom: boolean;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** Bytes of the unfinished line, in reusable memory. */
  #tail = EMPTY;
  /** Number of these bytes. */
  #tailLength = 0;
  /** `true` while the rest of a line that is too long is skipped, up to its LF. */
  #discarding = false;
  /** Number of consumed bytes of the stream, without the held ones. */
  #consumed = 0;
  /** `true` before the first line, which may begin with a byte order mark. */
  #atStart = true;
  /** Text from which lines are being cut. */
  #text = "";
  /** `true` if this text may contain a `\u` escape; `undefined` until the first query. */
  #escapes: boolean | undefined = true;
  /** `true` if this text may contain an event with a key; `undefined` until the first query. */
  #mayStrip: boolean | undefined = true;

  constructor(options: FramerOptions = {}) {
    this.#maxLine = options.maxLine ?? DEFAULT_MAX_LINE;
    this.#keepBom = options.keepBom ?? false;
  }

  /** Number of consumed bytes of the stream. */
  get offset(): number {
    return this.#consumed + this.#tailLength;
  }

  /** Number of held bytes of an unfinished line. */
  get buffered(): number {
    return this.#tailLength;
  }

  /**
   * `true` if the current line may contain a `\u` escape. All lines of a chunk are searched at once, in a
   * tenth of the time of a search per line.
   */
  get mayEscape(): boolean {
    return (this.#escapes ??= this.#text.includes("\\u"));
  }

  /**
   * `true` if the current line may contain an event with a key, of which only the type may be shown. Like
   * `mayEscape`, it is computed once per chunk.
   */
  get mayStripPayload(): boolean {
    return (this.#mayStrip ??= mayStripPayload(this.#text));
  }

  /** Consumes the next bytes of the stream and passes each completed line to the sink, in order. */
  push(chunk: Uint8Array, sink: LineSink): void {
    let isText = true;
    for (let start = 0; ; ) {
      const at = indexOf.call(chunk, LF, start);
      if (at < 0) {
        this.#buffer(chunk.subarray(start), sink);
        return;
      }
      const hasPending = this.#tailLength > 0 || this.#discarding;
      if (isText && !hasPending && !this.#atStart && at - start < LONG_LINE) {
        const end = lastIndexOf.call(chunk, LF);
        isText = this.#deliverShort(chunk.subarray(start, end), sink);
        if (isText) {
          start = end + 1;
          continue;
        }
      }
      let line = chunk.subarray(start, at);
      if (hasPending) {
        this.#buffer(line, sink);
        line = this.#tail.subarray(0, this.#tailLength);
      }
      if (!this.#discarding) this.#deliver(line, true, sink);
      this.#discarding = false;
      this.#consumed++;
      start = at + 1;
    }
  }

  /**
   * Ends the stream and delivers a last line without LF. Afterwards the framer is at the start of a new
   * stream. Returns `true` if there was such a line.
   */
  finish(sink: LineSink): boolean {
    const unterminated = this.#discarding || this.#tailLength > 0;
    if (this.#tailLength > 0) this.#deliver(this.#tail.subarray(0, this.#tailLength), false, sink);
    this.#consumed = 0;
    this.#discarding = false;
    this.#atStart = true;
    return unterminated;
  }

  /**
   * Delivers short lines, which end with an LF except for the last one. Returns `false` if the lines must be
   * handled one by one.
   */
  #deliverShort(lines: Uint8Array, sink: LineSink): boolean {
    if (lines.length > this.#maxLine) return false;
    let text: string;
    try {
      text = this.#decode(lines);
    } catch {
      return false;
    }
    this.#consumed += lines.length + 1;
    this.#text = text;
    this.#escapes = this.#mayStrip = undefined;
    for (let start = 0, at = 0; at >= 0; start = at + 1) {
      at = text.indexOf("\n", start);
      const end = at < 0 ? text.length : at;
      sink.line(text.slice(start, text.charCodeAt(end - 1) === CR ? end - 1 : end));
    }
    this.#text = "";
    this.#escapes = this.#mayStrip = true;
    return true;
  }

  /** Holds bytes of an unfinished line, or drops the line if it is too long. */
  #buffer(part: Uint8Array, sink: LineSink): void {
    if (part.length === 0) return;
    const length = this.#tailLength + part.length;
    if (this.#discarding) {
      this.#consumed += part.length;
    } else if (length > this.#maxLine && !(length - 1 === this.#maxLine && part.at(-1) === CR)) {
      // The line may end with CR LF, of which only the CR has arrived.
      this.#reportError("too_long", this.#maxLine, sink, this.#tail.subarray(0, this.#tailLength), part);
      this.#release(length);
      this.#discarding = true;
    } else {
      if (length > this.#tail.length) {
        const more = new Uint8Array(length * 2);
        more.set(this.#tail.subarray(0, this.#tailLength));
        this.#tail = more;
      }
      this.#tail.set(part, this.#tailLength);
      this.#tailLength = length;
    }
  }

  /** Delivers one line or its error. */
  #deliver(bytes: Uint8Array, terminated: boolean, sink: LineSink): void {
    const line = terminated && bytes.at(-1) === CR ? bytes.subarray(0, -1) : bytes;
    let text: string | undefined;
    // The length is checked before the CR is removed, so that the result does not depend on the chunking.
    if (line.length > this.#maxLine) {
      this.#reportError("too_long", this.#maxLine, sink, line);
    } else {
      try {
        text = this.#decode(line);
      } catch {
        this.#reportError("invalid_utf8", validUpTo(line), sink, line);
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

  #reportError(reason: "too_long" | "invalid_utf8", bytes: number, sink: LineSink, ...line: Uint8Array[]): void {
    this.#atStart = false;
    const head = line.map((part) => new TextDecoder().decode(part.subarray(0, MAX_HEAD)));
    sink.error(new FramingError(reason, this.#consumed, bytes, head.join("")));
  }

  /** Releases the given number of bytes after their line. */
  #release(bytes: number): void {
    this.#consumed += bytes;
    this.#tailLength = 0;
    if (this.#tail.length > MAX_RETAINED) this.#tail = EMPTY;
  }
}
