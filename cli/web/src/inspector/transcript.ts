/** Frames as a file, in the transcript format of `agentese-conformance`. */

import type { Spec } from "agentese";

import { type Entry, classify } from "./frames.js";

interface TranscriptLine {
  readonly t?: number;
  readonly dir?: "c2s" | "s2c" | "ctl" | "note";
  readonly line?: string;
  readonly line_parts?: readonly (string | { readonly repeat: string; readonly n: number })[];
  readonly event?: string;
  readonly code?: number | null;
  readonly text?: string;
}

export interface Header {
  readonly transcript: 1;
  readonly agent: string;
  readonly title?: string;
}

/** Writes frames as a transcript, without lines of other tabs and without notes. */
export function writeTranscript(entries: readonly Entry[], agent: string): string {
  const header: Header = { transcript: 1, agent, title: "Saved from the inspector" };
  const lines = entries
    .filter(({ direction, isOtherTab }) => direction !== "note" && !isOtherTab)
    .map(({ t, direction, line }) => ({ t, dir: direction === "sent" ? "c2s" : "s2c", line }));
  return [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** Reads a transcript. Fails if the text is not a transcript. */
export function readTranscript(text: string, specOf: (agent: string) => Spec | undefined): { header: Header; entries: Entry[] } {
  const [first, ...lines] = text.split("\n").filter((line) => line.trim() !== "");
  const header = JSON.parse(first ?? "null") as Header | null;
  if (header?.transcript !== 1) throw new SyntaxError("not a transcript: the first line is not a header");
  const spec = specOf(header.agent);
  const entries = lines.map((text, at): Entry => {
    const record = (JSON.parse(text) ?? {}) as TranscriptLine;
    const base = { number: at + 1, t: typeof record.t === "number" ? record.t : 0, isOtherTab: false };
    if (record.dir !== "c2s" && record.dir !== "s2c") {
      const text = [record.event, record.code, record.text].filter((part) => part !== undefined && part !== null).join(" ");
      return { ...base, direction: "note", line: text, bytes: 0, kind: "note", type: text, id: undefined };
    }
    const parts = record.line_parts?.map((part) => (typeof part === "string" ? part : part.repeat.repeat(part.n)));
    return { ...base, ...classify(spec, record.dir === "c2s" ? "sent" : "received", typeof record.line === "string" ? record.line : (parts?.join("") ?? "")) };
  });
  return { header, entries };
}
