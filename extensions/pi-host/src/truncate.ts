/** Truncation of output for a model, as in pi's tools: whole lines, with the original size. */

/** Default limit of lines. */
export const DEFAULT_MAX_LINES = 2000;
/** Default limit of bytes. */
export const DEFAULT_MAX_BYTES = 50 * 1024;

/** Limits of a truncation. */
export interface TruncationOptions {
  maxLines?: number;
  maxBytes?: number;
}

/** Result of a truncation, with the original size. */
export interface TruncationResult {
  content: string;
  truncated: boolean;
  /** Limit that was exceeded; `null` if nothing was cut. */
  truncatedBy: "lines" | "bytes" | null;
  totalLines: number;
  totalBytes: number;
  outputLines: number;
  outputBytes: number;
  /** `true` if the last line exceeded the limit, and only its end remains (tail only). */
  lastLinePartial: boolean;
  /** `true` if the first line exceeded the limit, and no content remains (head only). */
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

/** Returns the first lines that fit within both limits. */
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

/** Returns the last `maxBytes` bytes of a text, without cutting a character. */
function endOf(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  let at = Math.max(0, bytes.length - maxBytes);
  while (at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
  return bytes.subarray(at).toString("utf8");
}

/** Cuts a line to `maxChars` characters. */
export function truncateLine(line: string, maxChars = 500): { text: string; wasTruncated: boolean } {
  if (line.length <= maxChars) return { text: line, wasTruncated: false };
  return { text: `${line.slice(0, maxChars)}... [truncated]`, wasTruncated: true };
}

/** Formats a number of bytes. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)}MB`;
}
