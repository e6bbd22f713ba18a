/** Optional validation of received frames against the declaration. */

import type { JsonValue } from "./generated/types.js";
import type { AnyTypes, Spec } from "./spec.js";

/** Mismatch between a value and its declared type. */
export interface TypeMismatch {
  /** Path of the mismatch, as in `images[0].data`; empty for the value itself. */
  readonly path: string;
  /** Description of the mismatch. */
  readonly message: string;
  /** `true` if the value is outside of a closed set. */
  readonly outsideSet: boolean;
}

/**
 * Kinds of validated values: data of a response by its command, an event by its type, a dialog by its method.
 */
export type ValidationTarget = "answer" | "event" | "dialog";

/** Returns the mismatch of a received value; `undefined` if the value fits or is undeclared. */
export type Validator = (spec: Spec<AnyTypes>, what: ValidationTarget, name: string, value: JsonValue | undefined) => TypeMismatch | undefined;

/** Describes a mismatch in one line. */
export function mismatchText({ path, message }: TypeMismatch): string {
  return path === "" ? message : `\`${path}\`: ${message}`;
}
