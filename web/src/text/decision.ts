/** Texts of questions: what in them could be overlooked, and how they are cut to be seen whole. */

import { hiddenIn } from "./hidden.js";

/** A piece of a text: as it is, or white space that is told of in place of being shown. */
export interface Piece {
  readonly text: string;
  readonly isGap: boolean;
  /** What a gap is made of. */
  readonly of?: "lines" | "spaces";
}

/** Blank lines that follow each other, and spaces within a line or at its beginning, that are too many to be shown. */
const GAPS = /\n(?:[^\S\n]*\n){4,}|(?<=\S)[^\S\n]{24,}|[^\S\n]{80,}/g;

/** The text with long gaps told of. */
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

/** What of a text could be overlooked, each in a few words. */
export function warnings(text: string): string[] {
  const hidden = hiddenIn(text);
  const gaps = pieces(text).filter(({ isGap }) => isGap);
  return [
    ...(hidden.length > 0 ? [`invisible characters (${hidden.slice(0, 5).join(", ")}${hidden.length > 5 ? ", …" : ""})`] : []),
    ...(gaps.length > 0 ? [`long gaps (${gaps.slice(0, 3).map(({ text }) => text).join(", ")}${gaps.length > 3 ? ", …" : ""})`] : []),
  ];
}

/** Whether a text is too long for a line above, or for a button. */
export function isLong(text: string): boolean {
  return text.length > 200 || /\n[^]*\n/.test(text) || pieces(text).some(({ isGap }) => isGap);
}
