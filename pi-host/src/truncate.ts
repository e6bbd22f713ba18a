/** Cutting output to a size that a model bears, as tools of pi do it: whole lines, and how much was there. */

/** The most lines that are kept where nothing else is asked for. */
export const DEFAULT_MAX_LINES = 2000;
/** The most bytes that are kept where nothing else is asked for. */
export const DEFAULT_MAX_BYTES = 50 * 1024;

/** How much is kept. */
export interface TruncationOptions {
  maxLines?: number;
  maxBytes?: number;
}

/** What was kept, and of how much. */
export interface TruncationResult {
  content: string;
  truncated: boolean;
  /** Which limit was met. */
  truncatedBy: "lines" | "bytes" | null;
  totalLines: number;
  totalBytes: number;
  outputLines: number;
  outputBytes: number;
  /** Whether the last line alone was too long and its end was kept (from the tail only). */
  lastLinePartial: boolean;
  /** Whether the first line alone was too long, so that nothing was kept (from the head only). */
  firstLineExceedsLimit: boolean;
  maxLines: number;
  maxBytes: number;
}

const size = (text: string): number => Buffer.byteLength(text, "utf8");

/** Keeps the first lines. */
export function truncateHead(content: string, options: TruncationOptions = {}): TruncationResult {
  return truncate(content, options, "head");
}

/** Keeps the last lines. */
export function truncateTail(content: string, options: TruncationOptions = {}): TruncationResult {
  return truncate(content, options, "tail");
}

function truncate(content: string, options: TruncationOptions, from: "head" | "tail"): TruncationResult {
  const { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = options;
  const lines = content.split("\n");
  const whole = { totalLines: lines.length, totalBytes: size(content), maxLines, maxBytes };
  const flags = { lastLinePartial: false, firstLineExceedsLimit: false };
  if (lines.length <= maxLines && whole.totalBytes <= maxBytes) {
    const all = { outputLines: lines.length, outputBytes: whole.totalBytes };
    return { content, truncated: false, truncatedBy: null, ...whole, ...all, ...flags };
  }
  const { kept, truncatedBy } = keep(from === "head" ? lines : lines.reverse(), maxLines, maxBytes);
  let text = (from === "head" ? kept : kept.reverse()).join("\n");
  let outputLines = kept.length;
  if (outputLines === 0 && maxLines > 0) {
    if (from === "head") {
      flags.firstLineExceedsLimit = true;
    } else {
      flags.lastLinePartial = true;
      text = endOf(lines[0] ?? "", maxBytes);
      outputLines = 1;
    }
  }
  return { content: text, truncated: true, truncatedBy, ...whole, outputLines, outputBytes: size(text), ...flags };
}

/** The first lines that stay within both limits. */
function keep(
  lines: readonly string[],
  maxLines: number,
  maxBytes: number,
): { kept: string[]; truncatedBy: "lines" | "bytes" } {
  const kept: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    if (kept.length >= maxLines) return { kept, truncatedBy: "lines" };
    bytes += size(line) + (kept.length > 0 ? 1 : 0);
    if (bytes > maxBytes) return { kept, truncatedBy: "bytes" };
    kept.push(line);
  }
  return { kept, truncatedBy: "lines" };
}

/** The end of a text that takes at most that many bytes, in whole characters. */
function endOf(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  let at = Math.max(0, bytes.length - maxBytes);
  while (at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
  return bytes.subarray(at).toString("utf8");
}

/** Cuts one line to that many characters. */
export function truncateLine(line: string, maxChars = 500): { text: string; wasTruncated: boolean } {
  if (line.length <= maxChars) return { text: line, wasTruncated: false };
  return { text: `${line.slice(0, maxChars)}... [truncated]`, wasTruncated: true };
}

/** A number of bytes for people. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)}MB`;
}
