/** Observation of a connection, for logs and traces. */

import type { FramingError } from "./framing.js";
import type { ValidationTarget } from "./validation.js";
import { redact } from "./redact.js";

/** Direction of a frame. */
export type Direction = "sent" | "received";

/** Irregularity that did not end the connection. */
export type Diagnostic =
  /** Line that is not a frame, for example text printed by a library. The line was skipped. */
  | { readonly kind: "noise"; readonly text: string; readonly message: string }
  /** Line that is too long or not UTF-8. The line was skipped. */
  | { readonly kind: "framing"; readonly error: FramingError }
  /** Response without a pending call: unknown, late or repeated. The response was skipped. */
  | { readonly kind: "unmatched_answer"; readonly id: string | undefined; readonly command: string | undefined }
  /**
   * Original text of a number that no double represents; the nearest finite double is used. One number is reported
   * per value.
   */
  | { readonly kind: "inexact_number"; readonly number: string }
  /** Frame of an undeclared type. */
  | { readonly kind: "unknown_frame"; readonly type: string }
  /**
   * Value that does not fit its declaration; only with the option `validate`. A call with such a response
   * fails with a `DecodeError`, such an event is delivered as unknown, and such a dialog is answered by the
   * declared policy.
   */
  | { readonly kind: "invalid"; readonly what: ValidationTarget; readonly name: string; readonly message: string }
  /**
   * Frame that the configured revision does not have, as in `pi@0.55`. The client continues with the
   * configured revision.
   */
  | { readonly kind: "other_revision"; readonly named: string; readonly seen: string }
  /**
   * Frame that belongs to another dialect, before any frame of the client's dialect. Every call fails with an
   * `OtherDialectError`.
   */
  | { readonly kind: "other_dialect"; readonly dialect: string; readonly seen: string }
  /** Frame in pieces that could not be reassembled. The received pieces were dropped. */
  | { readonly kind: "chunks"; readonly message: string }
  /**
   * Dialog that was answered by the declared policy, because its handler failed or was absent. `error` is the
   * exception of the handler, or the mismatch of its answer.
   */
  | { readonly kind: "dialog_by_policy"; readonly method: string; readonly error?: unknown };

/** Observer of every frame, with keys redacted. A tap that throws is not called again. */
export interface Tap {
  /**
   * Receives a frame in either direction; `text` has no line feed. A frame in pieces is reported when it is
   * complete.
   */
  frame?(direction: Direction, text: string): void;
  /** Receives a diagnostic about an irregularity. */
  diagnostic?(diagnostic: Diagnostic): void;
}

/** Wrapper that contains the exceptions of a tap. */
export class SafeTap {
  #tap: Tap | undefined;
  /** `true` if the tap receives frames. */
  readonly wantsFrames: boolean;

  constructor(tap: Tap | undefined) {
    this.#tap = tap;
    this.wantsFrames = tap?.frame !== undefined;
  }

  frame(direction: Direction, text: string): void {
    if (!this.wantsFrames) return;
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
