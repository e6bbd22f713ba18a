/**
 * Characters that nobody sees, or that make others look otherwise: controls, marks of the direction of writing, characters
 * without a width. A text that somebody decides on shows them by their numbers.
 */

/** Emoji are joined and coloured by such characters; all others are hidden. */
const HIDDEN =
  /\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\ufe0f|\u200d\p{Extended_Pictographic})+|[0-9#*]\ufe0f\u20e3|((?![\t\n]|\r(?:\n|$))[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb\u2800])/gu;

/** A part of a text: characters as they are, or one that is shown by its number. */
export interface Part {
  readonly text: string;
  readonly isHidden: boolean;
}

/** The number of a character, as U+202E. */
function numbered(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The text in parts. */
export function parts(text: string): Part[] {
  const found: Part[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match[1] === undefined) continue;
    if (match.index > from) found.push({ text: text.slice(from, match.index), isHidden: false });
    found.push({ text: numbered(match[1]), isHidden: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), isHidden: false });
  return found;
}

/** The text for places that take no elements: titles, labels. */
export function revealed(text: string): string {
  return text.replace(HIDDEN, (whole, hidden?: string) => (hidden === undefined ? whole : `⟨${numbered(hidden)}⟩`));
}

/** HTML in which each hidden character of the text is an element that shows its number. */
export function revealedHtml(html: string): string {
  return html.replace(HIDDEN, (whole, hidden?: string) =>
    hidden === undefined ? whole : `<span class="hidden-character">${numbered(hidden)}</span>`,
  );
}

/** The numbers of the hidden characters, each once. */
export function hiddenIn(text: string): string[] {
  return [...new Set(parts(text).flatMap(({ text, isHidden }) => (isHidden ? [text] : [])))];
}
