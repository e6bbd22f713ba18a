/** Small things about values that extensions hand over: they are JavaScript and may be anything. */

/** What went wrong, as one text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The value as text. What JavaScript shows where a text is expected, and nothing for nothing. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : String(value);
}
