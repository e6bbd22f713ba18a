/** Transcripts: files of JSON lines with the frames between a client and an agent. */

import type { TranscriptHeader, TranscriptLine, TranscriptRecord } from "./generated/types.js";

/**
 * Reads a transcript: the header, and the records after it. Fails with a `SyntaxError` if a line is not JSON.
 */
export function readTranscript(text: string): { header: TranscriptHeader; records: TranscriptRecord[] } {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const [header, ...records] = lines.map((line) => JSON.parse(line) as TranscriptRecord);
  if (header === undefined || !("transcript" in header)) throw new SyntaxError("not a transcript: the first line is not a header");
  return { header, records };
}

/** Returns the text of a recorded line; `undefined` for other records. */
export function recordedLine(record: TranscriptRecord): string | undefined {
  if (!("dir" in record) || (record.dir !== "c2s" && record.dir !== "s2c")) return undefined;
  const { line, line_parts: parts } = record as TranscriptLine;
  if (line !== undefined) return line;
  return parts?.map((part) => (typeof part === "string" ? part : part.repeat.repeat(part.n))).join("");
}
