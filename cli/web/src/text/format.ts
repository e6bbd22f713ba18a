/** Formatting of numbers and times for users. */

const UNITS = ["", "k", "M", "G"];

/** Formats a number of tokens: 950, 12.3k, 1.2M. */
export function shortNumber(count: number): string {
  if (typeof count !== "number") return "?";
  let unit = 0;
  let value = count;
  while (value >= 1000 && unit < UNITS.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 ? Math.round(value) : value.toFixed(value < 10 ? 1 : 0)}${UNITS[unit]}`;
}

/** Returns the number of input tokens, including those from the cache. */
export function inputTokens(usage: { readonly input?: number; readonly cacheRead?: number; readonly cacheWrite?: number }): number {
  const numbers = [usage.input, usage.cacheRead, usage.cacheWrite].filter((count) => typeof count === "number");
  return numbers.reduce((sum, count) => sum + count, 0);
}

/** Formats a number of bytes. */
export function bytes(count: number): string {
  return count < 1000 ? `${count} B` : `${shortNumber(count)}B`;
}

/** Formats a cost in US dollars. */
export function dollars(cost: number): string {
  return `$${cost.toFixed(cost < 0.1 ? 4 : 2)}`;
}

/** Formats a duration in milliseconds. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** Formats the time since an event. */
export function ago(time: string | number): string {
  const minutes = Math.round((Date.now() - new Date(time).getTime()) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 60 * 24) return `${Math.round(minutes / 60)} h ago`;
  return new Date(time).toLocaleDateString();
}

/** Returns the last part of a path. */
export function fileName(path: string): string {
  return path.split("/").at(-1) ?? path;
}
