/** Colours of a terminal. */

import { AnsiUp } from "ansi_up";

import { revealedHtml } from "./hidden.js";

/** Converts terminal colours to HTML: escaped, with classes in place of styles. */
export function ansiToHtml(text: string): string {
  const ansi = new AnsiUp();
  ansi.use_classes = true;
  ansi.escape_html = true;
  // Links in terminal output are untrusted.
  ansi.url_allowlist = {};
  return revealedHtml(ansi.ansi_to_html(applyCarriageReturns(text)));
}

/**
 * Returns the visible part of each line after its carriage returns, because progress bars overwrite
 * themselves.
 */
function applyCarriageReturns(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .split("\n")
    .map((line) => line.replace(/\r+$/, "").split("\r").at(-1) ?? "")
    .join("\n");
}
