/**
 * Frames that come in pieces, put together.
 *
 * Pieces of one frame follow each other without anything between them. Where that is not so, what has come of the frame
 * is dropped and told once, and reading goes on.
 */

import type { JsonObject } from "./generated/types.js";
import type { Chunks } from "./spec.js";
import type { SafeTap } from "./tap.js";

/** What one piece did. */
export interface Step {
  /** The text of a frame that is whole now. */
  readonly whole?: string | undefined;
  /** Why a frame, or a piece of one, was dropped. */
  readonly fault?: string | undefined;
}

interface Piece {
  readonly id: string;
  readonly index: number;
  readonly count: number;
  readonly length: number;
  readonly bytes: Uint8Array;
}

/** The frames of one connection: what stands on one line, and what comes in pieces. */
export class Pieces {
  readonly #chunks: Chunks;
  readonly #tap: Pick<SafeTap, "diagnostic">;
  readonly #assembler = new Assembler();

  /** `tap` hears of frames that could not be put together. */
  constructor(chunks: Chunks, tap: Pick<SafeTap, "diagnostic">) {
    this.#chunks = chunks;
    this.#tap = tap;
  }

  /** A frame that stands on one line, or the one whose last piece this line is; none for other pieces. */
  pass(frame: JsonObject, line: string): string | undefined {
    if (frame["type"] !== this.#chunks.event) {
      this.interrupted("another frame");
      return line;
    }
    const { whole, fault } = this.#assembler.take(this.#chunks, frame);
    this.#tell(fault);
    return whole;
  }

  /** Something that is no piece came, or the end. */
  interrupted(by: string): void {
    this.#tell(this.#assembler.interrupted(by));
  }

  #tell(message: string | undefined): void {
    if (message !== undefined) this.#tap.diagnostic({ kind: "chunks", message });
  }
}

/** The frame whose pieces come at the moment. */
export class Assembler {
  #pending: { id: string; count: number; length: number; bytes: number; pieces: Uint8Array[] } | undefined;

  /**
   * Something that is no piece came, or the end of the connection. Gives what is to be told of the frame that will never
   * be whole.
   */
  interrupted(by: string): string | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    return pending && `${pending.pieces.length} of ${pending.count} pieces of ${pending.id} came, then ${by}`;
  }

  /** Takes an event that carries a piece. */
  take(chunks: Chunks, event: JsonObject): Step {
    const piece = read(chunks, event);
    if (typeof piece === "string") {
      const fault = this.interrupted("a piece that cannot be read");
      return { fault: fault === undefined ? piece : `${fault}; ${piece}` };
    }
    const { id, index, count, length, bytes } = piece;
    const open = this.#pending;
    const isNext =
      open !== undefined && open.id === id && open.count === count && open.length === length && open.pieces.length === index;
    let fault: string | undefined;
    const also = (reason: string): string => (fault === undefined ? reason : `${fault}; ${reason}`);
    if (!isNext) {
      fault = this.interrupted(`piece ${index} of ${id}`);
      if (index > 0) return { fault: fault ?? `piece ${index} of ${id} came without those before it` };
    }
    const pending = (this.#pending ??= { id, count, length, bytes: 0, pieces: [] });
    pending.pieces.push(bytes);
    pending.bytes += bytes.length;
    const isWhole = pending.pieces.length === count;
    if (pending.bytes > length || (isWhole && pending.bytes < length)) {
      this.#pending = undefined;
      return { fault: also(`the pieces of ${id} have ${pending.bytes} bytes and should have ${length}`) };
    }
    if (!isWhole) return { fault };
    this.#pending = undefined;
    try {
      return { whole: text(pending.pieces, length), fault };
    } catch {
      return { fault: also("the pieces of a frame are not UTF-8") };
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

/** A piece, or what is wrong with it. */
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
  if (length > chunks.most) return `${id} has ${length} bytes; the most is ${chunks.most}`;
  if (index >= count || count > length) return `piece ${index} of ${count} of ${id}, which has ${length} bytes, is none`;
  if (data === "") return `piece ${index} of ${id} is empty`;
  try {
    return { id, index, count, length, bytes: Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)) };
  } catch {
    return `piece ${index} of ${id} is not base64`;
  }
}
