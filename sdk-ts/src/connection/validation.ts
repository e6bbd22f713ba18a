/** Validation of the frames of a connection. */

import type { JsonValue } from "../generated/types.js";
import { type TypeMismatch, type ValidationTarget, mismatchText } from "../validation.js";
import type { ConnectionCore } from "./core.js";

/**
 * Validates a value if validation is enabled. Returns the mismatch, and reports it to the tap.
 */
export function validateValue(
  connection: ConnectionCore,
  what: ValidationTarget,
  name: string,
  value: JsonValue | undefined,
): TypeMismatch | undefined {
  const mismatch = connection.settings.validate?.(connection.spec, what, name, value);
  if (mismatch !== undefined) {
    const message = mismatchText(mismatch);
    connection.tap.diagnostic({ kind: "invalid", what, name, message });
  }
  return mismatch;
}
