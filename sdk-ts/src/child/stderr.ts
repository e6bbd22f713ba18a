/**
 * Reader of a child's stderr. It reads continuously, so that the child never blocks, and retains
 * the end of the output.
 */

import type { Readable } from "node:stream";

/** Maximum length of the text for one callback in characters. Longer lines are passed in pieces. */
const LINE_PIECE = 16 * 1024;

export class StderrTail {
  readonly #cap: number;
  readonly #callback: ((line: string) => void) | undefined;
  #chunks: Buffer[] = [];
  #size = 0;
  #partialLine = "";
  #broken = false;

  constructor(cap: number, callback: ((line: string) => void) | undefined) {
    this.#cap = cap;
    this.#callback = callback;
  }

  /** Starts to read the stream continuously. */
  drain(stderr: Readable): void {
    const decoder = new TextDecoder();
    stderr.on("data", (chunk: Buffer) => {
      this.#retain(chunk);
      if (this.#callback !== undefined) this.#lines(decoder.decode(chunk, { stream: true }));
    });
    stderr.on("end", () => {
      if (this.#partialLine !== "") this.#call(this.#partialLine);
      this.#partialLine = "";
    });
    stderr.on("error", () => undefined);
  }

  /** Returns the retained bytes as text, with U+FFFD for invalid UTF-8. */
  text(): string {
    const bytes = Buffer.concat(this.#chunks).subarray(-this.#cap || undefined);
    // The size limit may have split a UTF-8 character.
    let torn = 0;
    while (torn < 3 && ((bytes[torn] ?? 0) & 0xc0) === 0x80) torn++;
    return bytes.subarray(torn).toString("utf8");
  }

  #retain(chunk: Buffer): void {
    this.#chunks.push(chunk.length > this.#cap ? Buffer.from(chunk.subarray(-this.#cap)) : chunk);
    this.#size += this.#chunks.at(-1)?.length ?? 0;
    while (this.#size - (this.#chunks[0]?.length ?? 0) >= this.#cap && this.#chunks.length > 1) {
      this.#size -= this.#chunks.shift()?.length ?? 0;
    }
  }

  #lines(text: string): void {
    const lines = (this.#partialLine + text).split("\n");
    this.#partialLine = lines.pop() ?? "";
    while (this.#partialLine.length >= LINE_PIECE) {
      lines.push(this.#partialLine.slice(0, LINE_PIECE));
      this.#partialLine = this.#partialLine.slice(LINE_PIECE);
    }
    for (const line of lines) this.#call(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  #call(line: string): void {
    if (this.#broken) return;
    try {
      this.#callback?.(line);
    } catch {
      // A callback that threw is not called again.
      this.#broken = true;
    }
  }
}
