/** Looking at everything that passes, for tracing. */

import type { FramingError } from "./framing.js";
import type { Checked } from "./validation.js";
import { redact } from "./redact.js";

/** Which way a frame goes. */
export type Direction = "sent" | "received";

/** Something odd that did not stop the connection. */
export type Diagnostic =
  /** A line that is no frame: text that a library or tool printed. It was skipped. */
  | { readonly kind: "noise"; readonly text: string; readonly message: string }
  /** Bytes that are no line. They were skipped. */
  | { readonly kind: "framing"; readonly error: FramingError }
  /** An answer that no call waits for (unknown, late or second). It was skipped. */
  | { readonly kind: "unmatched_answer"; readonly id: string | undefined; readonly command: string | undefined }
  /** A frame whose type is not declared. */
  | { readonly kind: "unknown_frame"; readonly type: string }
  /**
   * What the agent sent does not fit its declaration (with the option `validate` only). An answer failed with a
   * `DecodeError`, an event was handed over as an unknown one, a dialog was answered by the declared policy.
   */
  | { readonly kind: "invalid"; readonly what: Checked; readonly name: string; readonly message: string }
  /** A dialog that was answered by the declared policy. `error` is what its handler threw. */
  | { readonly kind: "dialog_by_policy"; readonly method: string; readonly error?: unknown };

/** Sees everything that passes, with keys redacted. A tap that throws is not called again. */
export interface Tap {
  /** A frame passed; `text` has no line feed in it. */
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
