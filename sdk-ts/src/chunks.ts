/**
 * Reassembly of frames that arrive in chunks.
 *
 * The chunks of a frame follow each other directly. After an interruption, the received chunks are dropped
 * with one diagnostic, and reading continues.
 */

import type { JsonObject } from "./generated/types.js";
import type { AssemblerTap, Chunks, FrameAssembler } from "./spec.js";

/** Result of processing one chunk. */
export interface AssemblyResult {
  /** Text of the completed frame. */
  readonly completed?: string | undefined;
  /** Reason why a frame or a chunk was dropped. */
  readonly error?: string | undefined;
}

interface Piece {
  readonly id: string;
  readonly index: number;
  readonly count: number;
  readonly length: number;
  readonly bytes: Uint8Array;
}

/** Assembler of all frames of one connection. A frame is a single line, or several chunks. */
export class ChunkAssembler implements FrameAssembler {
  readonly #chunks: Chunks;
  readonly #tap: AssemblerTap;
  readonly #assembler = new Assembler();

  /** Creates an assembler. `tap` receives a diagnostic for each frame that could not be reassembled. */
  constructor(chunks: Chunks, tap: AssemblerTap) {
    this.#chunks = chunks;
    this.#tap = tap;
  }

  /** Returns the frame in this line, or the frame that this chunk completes; `undefined` for other chunks. */
  accept(frame: JsonObject, line: string): string | undefined {
    if (frame["type"] !== this.#chunks.event) {
      this.interrupt("another frame");
      return line;
    }
    const { completed, error } = this.#assembler.add(this.#chunks, frame);
    this.#report(error);
    return completed;
  }

  /** Drops an incomplete frame, because another frame or the end of the connection follows. */
  interrupt(by: string): void {
    this.#report(this.#assembler.interrupt(by));
  }

  #report(message: string | undefined): void {
    if (message !== undefined) this.#tap.diagnostic({ kind: "chunks", message });
  }
}

/** Assembler of a single frame from its chunks. */
export class Assembler {
  #pending: { id: string; count: number; length: number; bytes: number; pieces: Uint8Array[] } | undefined;

  /**
   * Drops the incomplete frame, because another frame or the end of the connection follows. Returns the text
   * of the diagnostic, if a frame was dropped.
   */
  interrupt(by: string): string | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    return pending && `received ${pending.pieces.length} of ${pending.count} pieces of ${pending.id}, then ${by}`;
  }

  /** Adds the chunk in an event. */
  add(chunks: Chunks, event: JsonObject): AssemblyResult {
    const piece = read(chunks, event);
    if (typeof piece === "string") {
      const error = this.interrupt("an unreadable piece");
      return { error: error === undefined ? piece : `${error}; ${piece}` };
    }
    const { id, index, count, length, bytes } = piece;
    const open = this.#pending;
    const isNext =
      open !== undefined && open.id === id && open.count === count && open.length === length && open.pieces.length === index;
    let error: string | undefined;
    const also = (reason: string): string => (error === undefined ? reason : `${error}; ${reason}`);
    if (!isNext) {
      error = this.interrupt(`piece ${index} of ${id}`);
      if (index > 0) return { error: error ?? `piece ${index} of ${id} came without earlier pieces` };
    }
    const pending = (this.#pending ??= { id, count, length, bytes: 0, pieces: [] });
    pending.pieces.push(bytes);
    pending.bytes += bytes.length;
    const isWhole = pending.pieces.length === count;
    if (pending.bytes > length || (isWhole && pending.bytes < length)) {
      this.#pending = undefined;
      return { error: also(`the pieces of ${id} have ${pending.bytes} bytes, expected ${length}`) };
    }
    if (!isWhole) return { error };
    this.#pending = undefined;
    try {
      return { completed: text(pending.pieces, length), error };
    } catch {
      return { error: also("the pieces of a frame are not UTF-8") };
    }
  }
}

function text(pieces: readonly Uint8Array[], length: number): string {
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(all);
}

/** Reads a chunk from an event. Returns the error message if the chunk is malformed. */
function read(chunks: Chunks, event: JsonObject): Piece | string {
  const missing = (name: string): string => `a piece of a frame has no \`${name}\``;
  const id = event[chunks.id];
  const data = event[chunks.data];
  if (typeof id !== "string") return missing(chunks.id);
  if (typeof data !== "string") return missing(chunks.data);
  const numbers: number[] = [];
  for (const name of [chunks.index, chunks.count, chunks.length]) {
    const value = event[name];
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) return missing(name);
    numbers.push(value);
  }
  const [index = 0, count = 0, length = 0] = numbers;
  if (length > chunks.most) return `${id} has ${length} bytes; the limit is ${chunks.most}`;
  if (index >= count || count > length) return `invalid piece ${index} of ${count} of ${id} with ${length} bytes`;
  if (data === "") return `piece ${index} of ${id} is empty`;
  try {
    return { id, index, count, length, bytes: Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)) };
  } catch {
    return `piece ${index} of ${id} is not base64`;
  }
}
