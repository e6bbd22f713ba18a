/** Documented failures: which one an agent's words are. */

import type {
  FailureText,
  OmpFailure,
  OpalFailure,
  OperatorFailure,
  PiFailure,
  PiscesFailure,
} from "./generated/failures.js";
import type { AnyTypes, Spec } from "./spec.js";

/** The kinds of all documented failures, of all dialects. */
export type FailureKind = OmpFailure | OpalFailure | OperatorFailure | PiFailure | PiscesFailure;

/**
 * The kind of a failure by its text, and by its code where the dialect has codes; `undefined` where no document names
 * it. `command` is what the answer names.
 *
 * A text that begins as answers to unreadable lines do is looked for without that beginning first: real agents answer
 * failures of commands that way. Of several that fit, the one with the most fixed characters counts. A documented text
 * without any fixed character fits answers to unreadable lines only.
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

/** The texts between the placeholders. */
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
