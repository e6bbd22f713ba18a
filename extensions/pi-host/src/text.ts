/** Conversion of arbitrary JavaScript values of extensions to text. */

/** Returns the message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Converts a value to text, like JavaScript. Null and undefined become an empty text. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : String(value);
}
