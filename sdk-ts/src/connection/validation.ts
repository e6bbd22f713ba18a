/** Validation of the frames of a connection. */

import type { JsonValue } from "../generated/types.js";
import { type Checked, type Misfit, misfitText } from "../validation.js";
import type { ConnectionCore } from "./core.js";

/** Returns the mismatch of a value if validation is enabled, and reports it to the tap. */
export function fits(
  connection: ConnectionCore,
  what: Checked,
  name: string,
  value: JsonValue | undefined,
): Misfit | undefined {
  const misfit = connection.settings.validate?.(connection.spec, what, name, value);
  if (misfit !== undefined) {
    const message = misfitText(misfit);
    connection.tap.diagnostic({ kind: "invalid", what, name, message });
  }
  return misfit;
}
