/** Formatting of JSON for users. */

/** Formats a value over several lines. Returns a sentence instead if the nesting is too deep. */
export function prettyJson(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? "";
  } catch {
    return "(nested too deeply to be formatted; the inspector shows the original frame)";
  }
}
