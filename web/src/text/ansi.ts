/** The colours of a terminal. */

import { AnsiUp } from "ansi_up";

import { revealedHtml } from "./hidden.js";

/** Text with the colours of a terminal as HTML: escaped, with classes in place of styles. */
export function coloured(text: string): string {
  const ansi = new AnsiUp();
  ansi.use_classes = true;
  ansi.escape_html = true;
  // Links of a terminal could go anywhere.
  ansi.url_allowlist = {};
  return revealedHtml(ansi.ansi_to_html(overwritten(text)));
}

/** What a line shows after its carriage returns: progress bars draw themselves over and over. */
function overwritten(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .split("\n")
    .map((line) => line.replace(/\r+$/, "").split("\r").at(-1) ?? "")
    .join("\n");
}
