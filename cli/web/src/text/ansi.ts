/** Conversion of terminal colours. */

import { AnsiUp } from "ansi_up";

import { revealedHtml } from "./hidden.js";

/** Converts text with terminal colours to escaped HTML, with CSS classes for the colours. */
export function ansiToHtml(text: string): string {
  const ansi = new AnsiUp();
  ansi.use_classes = true;
  ansi.escape_html = true;
  // Links in terminal output are untrusted, so they are not permitted.
  ansi.url_allowlist = {};
  return revealedHtml(ansi.ansi_to_html(applyCarriageReturns(text)));
}

/**
 * Returns the visible text of each line after its carriage returns. Progress bars use them to
 * overwrite a line.
 */
function applyCarriageReturns(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .split("\n")
    .map((line) => line.replace(/\r+$/, "").split("\r").at(-1) ?? "")
    .join("\n");
}
