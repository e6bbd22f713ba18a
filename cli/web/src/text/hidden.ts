/**
 * Hidden characters: invisible ones, and those that change the appearance of others, such as direction marks.
 * Texts about which the user decides show them as code points.
 */

/**
 * Pattern that finds hidden characters. Its group matches one such character; inside emoji, the group is
 * empty, so these are not hidden.
 */
const HIDDEN =
  /\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\ufe0f|\u200d\p{Extended_Pictographic})+|[0-9#*]\ufe0f\u20e3|((?![\t\n]|\r(?:\n|$))[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb\u2800])/gu;

/** Part of a text: visible characters, or one hidden character. */
export interface TextPart {
  readonly text: string;
  readonly isHidden: boolean;
}

/** Returns the code point of a character, for example U+202E. */
function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Splits a text into visible parts and hidden characters. */
export function parts(text: string): TextPart[] {
  const found: TextPart[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match[1] === undefined) continue;
    if (match.index > from) found.push({ text: text.slice(from, match.index), isHidden: false });
    found.push({ text: codePointName(match[1]), isHidden: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), isHidden: false });
  return found;
}

/**
 * Returns the text with hidden characters as code points in brackets, for places that cannot contain HTML, such
 * as titles.
 */
export function revealed(text: string): string {
  return text.replace(HIDDEN, (whole, hidden?: string) => (hidden === undefined ? whole : `⟨${codePointName(hidden)}⟩`));
}

/** Returns HTML in which each hidden character is replaced by an element with its code point. */
export function revealedHtml(html: string): string {
  return html.replace(HIDDEN, (whole, hidden?: string) =>
    hidden === undefined ? whole : `<span class="hidden-character">${codePointName(hidden)}</span>`,
  );
}

/** Returns the distinct code points of the hidden characters in a text. */
export function hiddenIn(text: string): string[] {
  return [...new Set(parts(text).flatMap(({ text, isHidden }) => (isHidden ? [text] : [])))];
}
