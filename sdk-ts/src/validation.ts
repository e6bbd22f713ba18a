/** Optional validation of received frames against the declaration. */

import type { JsonValue } from "./generated/types.js";
import type { AnyTypes, Spec } from "./spec.js";

/** Mismatch between a value and its declared type. */
export interface TypeMismatch {
  /** Path of the mismatch, as in `images[0].data`; empty for the value itself. */
  readonly path: string;
  /** Description of the mismatch. */
  readonly message: string;
  /** `true` if the value is not in a closed enumeration. */
  readonly outsideSet: boolean;
}

/**
 * Kinds of values that are validated: the data of a response, by command; an event, by type; a dialog, by
 * method.
 */
export type ValidationTarget = "answer" | "event" | "dialog";

/** Returns the mismatch of a received value; `undefined` if the value fits or is undeclared. */
export type Validator = (spec: Spec<AnyTypes>, what: ValidationTarget, name: string, value: JsonValue | undefined) => TypeMismatch | undefined;

/** Describes a mismatch in one line. */
export function mismatchText({ path, message }: TypeMismatch): string {
  return path === "" ? message : `\`${path}\`: ${message}`;
}
