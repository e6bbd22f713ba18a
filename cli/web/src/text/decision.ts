/** Texts of questions. Detects parts that a user could overlook, and makes long gaps visible. */

import { hiddenIn } from "./hidden.js";

/** Part of a text: original text, or a description of white space. */
export interface Piece {
  readonly text: string;
  readonly isGap: boolean;
  /** Kind of the white space. */
  readonly of?: "lines" | "spaces";
}

/** Pattern of blank lines and spaces in a row that would hide the text after them. */
const GAPS = /\n(?:[^\S\n]*\n){4,}|(?<=\S)[^\S\n]{24,}|[^\S\n]{80,}/g;

/** Splits a text into pieces. Each long gap is replaced by a description such as "20 spaces". */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const { 0: gap, index } of text.matchAll(GAPS)) {
    const lines = gap.split("\n").length - 2;
    if (index > from) found.push({ text: text.slice(from, index), isGap: false });
    if (lines > 0) found.push({ text: `${lines.toLocaleString("en")} blank lines`, isGap: true, of: "lines" });
    else found.push({ text: `${gap.length.toLocaleString("en")} spaces`, isGap: true, of: "spaces" });
    from = index + gap.length;
  }
  if (from < text.length) found.push({ text: text.slice(from), isGap: false });
  return found;
}

/** Returns short descriptions of the parts of a text that a user could overlook. */
export function warnings(text: string): string[] {
  const hidden = hiddenIn(text);
  const gaps = pieces(text).filter(({ isGap }) => isGap);
  return [
    ...(hidden.length > 0 ? [`invisible characters (${hidden.slice(0, 5).join(", ")}${hidden.length > 5 ? ", …" : ""})`] : []),
    ...(gaps.length > 0 ? [`long gaps (${gaps.slice(0, 3).map(({ text }) => text).join(", ")}${gaps.length > 3 ? ", …" : ""})`] : []),
  ];
}

/** Returns `true` if a text is too long for a summary line or a button. */
export function isLong(text: string): boolean {
  return text.length > 200 || /\n[^]*\n/.test(text) || pieces(text).some(({ isGap }) => isGap);
}
