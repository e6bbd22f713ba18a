/** Checking what an agent sends against the declaration, where the caller wants it. */

import type { JsonValue } from "./generated/types.js";
import type { AnyTypes, Spec } from "./spec.js";

/** What is wrong with a value. */
export interface Misfit {
  /** Where, as in `images[0].data`; empty for the value itself. */
  readonly path: string;
  /** What is wrong there. */
  readonly message: string;
  /** True where a closed set does not have the value. */
  readonly outsideSet: boolean;
}

/** What can be checked: the data of an answer by its command, an event by its type, a dialog by its method. */
export type Checked = "answer" | "event" | "dialog";

/** Says what is wrong with a value that the agent sent; `undefined` where it fits, or is not declared. */
export type Validate = (spec: Spec<AnyTypes>, what: Checked, name: string, value: JsonValue | undefined) => Misfit | undefined;

/** A misfit in one line. */
export function misfitText({ path, message }: Misfit): string {
  return path === "" ? message : `\`${path}\`: ${message}`;
}
