/** Observing a connection, for logs and traces. */

import type { FramingError } from "./framing.js";
import type { Checked } from "./validation.js";
import { redact } from "./redact.js";

/** The direction of a frame. */
export type Direction = "sent" | "received";

/** Something odd that did not end the connection. */
export type Diagnostic =
  /** A line that is not a frame, for example text that a library printed. It was skipped. */
  | { readonly kind: "noise"; readonly text: string; readonly message: string }
  /** A line that is too long or not UTF-8. It was skipped. */
  | { readonly kind: "framing"; readonly error: FramingError }
  /** An answer that no call waits for: unknown, late or repeated. It was skipped. */
  | { readonly kind: "unmatched_answer"; readonly id: string | undefined; readonly command: string | undefined }
  /** A number that no double holds, as it was written: what is read is the nearest one that is finite. One of each value is told. */
  | { readonly kind: "inexact_number"; readonly number: string }
  /** A frame whose type is not declared. */
  | { readonly kind: "unknown_frame"; readonly type: string }
  /**
   * What the agent sent does not fit its declaration (with the option `validate` only). An answer failed with a
   * `DecodeError`, an event was handed over as an unknown one, a dialog was answered by the declared policy.
   */
  | { readonly kind: "invalid"; readonly what: Checked; readonly name: string; readonly message: string }
  /** A frame that the revision which the caller named does not send; that revision is spoken on. As in `pi@0.55`. */
  | { readonly kind: "other_revision"; readonly told: string; readonly seen: string }
  /** A frame that the client's dialect cannot have, before any that it has. Every call fails with an `OtherDialectError`. */
  | { readonly kind: "other_dialect"; readonly dialect: string; readonly seen: string }
  /** A frame in pieces that could not be put together. What had come of it was dropped. */
  | { readonly kind: "chunks"; readonly message: string }
  /** A dialog that was answered by the declared policy. `error` is what its handler threw, or what is wrong with its answer. */
  | { readonly kind: "dialog_by_policy"; readonly method: string; readonly error?: unknown };

/** Sees every frame, with keys redacted. A tap that throws is not called again. */
export interface Tap {
  /** A frame was sent or received; `text` has no line feed in it. One that comes in pieces is shown when it is whole. */
  frame?(direction: Direction, text: string): void;
  /** Something odd happened. */
  diagnostic?(diagnostic: Diagnostic): void;
}

/** A tap that breaks nothing but itself. */
export class SafeTap {
  #tap: Tap | undefined;
  /** Whether somebody wants to see frames. */
  readonly seesFrames: boolean;

  constructor(tap: Tap | undefined) {
    this.#tap = tap;
    this.seesFrames = tap?.frame !== undefined;
  }

  frame(direction: Direction, text: string): void {
    if (!this.seesFrames) return;
    this.#guard((tap) => tap.frame?.(direction, redact(text)));
  }

  diagnostic(diagnostic: Diagnostic): void {
    this.#guard((tap) => tap.diagnostic?.(diagnostic));
  }

  #guard(call: (tap: Tap) => void): void {
    try {
      if (this.#tap !== undefined) call(this.#tap);
    } catch {
      this.#tap = undefined;
    }
  }
}
