/**
 * Markdown parser with limits on size, depth and work. A text that exceeds a limit is rejected, and the page
 * displays it as plain text.
 */

import { Lexer, type MarkedOptions, type Token, Tokenizer, type TokensList } from "marked";

type Options = MarkedOptions<string, string>;

/** Maximum length of a Markdown text in characters. */
const LONGEST = 200_000;
/** Maximum nesting of blocks, or of marks within a line. */
const DEEPEST = 40;
/**
 * Maximum work for a text. Each parser step costs the number of remaining characters in its block, because the
 * search for the end of a mark can scan all of them.
 */
const MOST_WORK = 5_000_000;
/** Maximum cost of the step that starts a block, because the first lines identify most blocks. */
const BLOCK_WORK = 500;
/** Maximum number of parser steps for a text, that is, of blocks and inline elements. */
const MOST_STEPS = 40_000;

/** Amount of work after which the parser lets the browser run. */
const WORK_PER_TURN = MOST_WORK;
/** Work since the browser last ran. */
let recentWork = 0;

/** Returns `true` if further parsing should wait until the browser has run. */
export function shouldYield(): boolean {
  return recentWork > WORK_PER_TURN;
}

/** Error of a text that exceeds a limit. The message describes the limit. */
export class MarkdownBoundError extends Error {
  override readonly name = "MarkdownBoundError";
}

class CountingTokenizer extends Tokenizer<string, string> {
  work = 0;
  steps = 0;

  /** Adds work. Fails if the text exceeds its limit. */
  count(work: number): void {
    if (recentWork === 0) setTimeout(() => (recentWork = 0));
    recentWork += work;
    this.work += work;
    if (this.work > MOST_WORK) throw new MarkdownBoundError("its markup is too complex");
  }

  #step(work: number): void {
    if (++this.steps > MOST_STEPS) throw new MarkdownBoundError(`it has more than ${MOST_STEPS.toLocaleString("en")} elements`);
    this.count(work);
  }

  // The parser calls one of these two first, at every position of a block or a line.
  override space(text: string): ReturnType<Tokenizer<string, string>["space"]> {
    // The first lines identify most blocks.
    this.#step(Math.min(text.length, BLOCK_WORK));
    return super.space(text);
  }

  override escape(text: string): ReturnType<Tokenizer<string, string>["escape"]> {
    this.#step(text.length);
    return super.escape(text);
  }
}

class BoundedLexer extends Lexer<string, string> {
  #depth = 0;

  override blockTokens(text: string, tokens?: Token[], lastParagraphClipped?: boolean): TokensList {
    return this.#within(() => super.blockTokens(text, tokens, lastParagraphClipped)) as TokensList;
  }

  override inlineTokens(text: string, tokens?: Token[]): Token[] {
    // Each mark that hides others from the search for stars copies the rest of the text.
    (this.options.tokenizer as CountingTokenizer).count(((text.match(/[[\\`<]/g)?.length ?? 0) * text.length) / 16);
    return this.#within(() => super.inlineTokens(text, tokens));
  }

  #within<T>(read: () => T): T {
    if (++this.#depth > DEEPEST) throw new MarkdownBoundError(`its markup is nested more than ${DEEPEST} levels deep`);
    try {
      return read();
    } finally {
      this.#depth--;
    }
  }
}

/** Parses Markdown. Fails with a `MarkdownBoundError` if a text exceeds a limit. */
export function lexMarkdown(source: string, options: Options): TokensList {
  if (source.length > LONGEST) throw new MarkdownBoundError(`it has more than ${LONGEST.toLocaleString("en")} characters`);
  return new BoundedLexer({ ...options, tokenizer: new CountingTokenizer(options) }).lex(source);
}
