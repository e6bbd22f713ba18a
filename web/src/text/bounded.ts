/** Reading Markdown with bounds: what is too long, too deep or too much work fails, and is then shown as it is. */

import { Lexer, type MarkedOptions, type Token, Tokenizer, type TokensList } from "marked";

type Options = MarkedOptions<string, string>;

/** The longest text that is read as Markdown, in characters. */
const LONGEST = 200_000;
/** How many blocks, or marks within a line, may stand within each other. */
const DEEPEST = 40;
/**
 * How much work a text may be. A step at one place counts the characters that follow it in its block, as looking for the end of
 * a mark may pass all of them.
 */
const MOST_WORK = 5_000_000;
/** How much work a block is at most, besides what is in it. */
const BLOCK_WORK = 500;
/** How many pieces a text may fall into: blocks, and parts of lines. */
const MOST_STEPS = 40_000;

/** How much work is done before the browser gets its turn. */
const AT_ONCE = MOST_WORK;
/** The work that was done since the browser had its turn. */
let done = 0;

/** Whether reading another text should wait until the browser had its turn. */
export function isTired(): boolean {
  return done > AT_ONCE;
}

/** A text that is not read as Markdown; the message says why. */
export class MarkdownBoundError extends Error {
  override readonly name = "MarkdownBoundError";
}

class CountingTokenizer extends Tokenizer<string, string> {
  work = 0;
  steps = 0;

  /** Counts work. */
  count(work: number): void {
    if (done === 0) setTimeout(() => (done = 0));
    done += work;
    this.work += work;
    if (this.work > MOST_WORK) throw new MarkdownBoundError("its marks are too much work to read");
  }

  #step(work: number): void {
    if (++this.steps > MOST_STEPS) throw new MarkdownBoundError(`it falls into more than ${MOST_STEPS.toLocaleString("en")} pieces`);
    this.count(work);
  }

  // Each of these two is asked first at every place, of a block and of a line.
  override space(text: string): ReturnType<Tokenizer<string, string>["space"]> {
    // Most blocks are known by their first lines.
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
    // Each mark that hides others from the search for stars has the rest of the text copied.
    (this.options.tokenizer as CountingTokenizer).count(((text.match(/[[\\`<]/g)?.length ?? 0) * text.length) / 16);
    return this.#within(() => super.inlineTokens(text, tokens));
  }

  #within<T>(read: () => T): T {
    if (++this.#depth > DEEPEST) throw new MarkdownBoundError(`its marks stand within each other, more than ${DEEPEST} deep`);
    try {
      return read();
    } finally {
      this.#depth--;
    }
  }
}

/** Reads Markdown. Fails with a `MarkdownBoundError` where a text is over a bound. */
export function lexed(source: string, options: Options): TokensList {
  if (source.length > LONGEST) throw new MarkdownBoundError(`it has more than ${LONGEST.toLocaleString("en")} characters`);
  return new BoundedLexer({ ...options, tokenizer: new CountingTokenizer(options) }).lex(source);
}
