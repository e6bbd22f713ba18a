/** JSON for people. */

/** The value over several lines; a sentence in its place where it is nested too deeply to be written. */
export function laidOut(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? "";
  } catch {
    return "(nested too deeply to be laid out; the inspector has the frame as it came)";
  }
}
