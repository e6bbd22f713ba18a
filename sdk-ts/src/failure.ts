/** Recognition of documented failures by their texts. */

import type {
  FailureText,
  OmpFailure,
  OpalFailure,
  OperatorFailure,
  PiFailure,
  PiscesFailure,
} from "./generated/failures.js";
import type { AnyTypes, Spec } from "./spec.js";

/** Kinds of the documented failures of all dialects. */
export type FailureKind = OmpFailure | OpalFailure | OperatorFailure | PiFailure | PiscesFailure;

/**
 * Returns the kind of a failure by its text, and by its code in dialects with codes. Returns
 * `undefined` if no document names the failure. `command` is the name in the response.
 *
 * A prefix for unreadable lines is removed from the text before the first search, because real agents prepend
 * it to failures of commands. If several texts match, the one with the most fixed characters is chosen. A
 * documented text without fixed characters matches only responses to unreadable lines.
 */
export function failureKind(
  spec: Spec<AnyTypes>,
  command: string | undefined,
  message: string,
  code?: number,
): FailureKind | undefined {
  const { prefix, texts } = spec.failures;
  const best = (text: string): FailureText | undefined => {
    let found: FailureText | undefined;
    for (const failure of texts) {
      const fixed = fixedLength(failure);
      if (failure.code !== undefined && failure.code !== code) continue;
      if (fixed === 0 && command !== spec.parseCommand) continue;
      if (found !== undefined && fixed <= fixedLength(found)) continue;
      if (fitsText(failure, text)) found = failure;
    }
    return found;
  };
  const found = (message.startsWith(prefix) ? best(message.slice(prefix.length)) : undefined) ?? best(message);
  return found?.kind as FailureKind | undefined;
}

/** Returns the fixed parts of a text, between its placeholders. */
function parts({ text }: FailureText): string[] {
  return text.split(/\{[^}]*\}/);
}

function fixedLength(failure: FailureText): number {
  return parts(failure).join("").length;
}

function fitsText(failure: FailureText, text: string): boolean {
  const [first = "", ...others] = parts(failure);
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - at >= last.length && text.endsWith(last);
}
