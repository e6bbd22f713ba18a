/**
 * Markdown parser with limits on size, depth and work. A text that exceeds a limit is rejected, and the page
 * displays it as plain text.
 */

import { Lexer, type MarkedOptions, type Token, Tokenizer, type TokensList } from "marked";

type Options = MarkedOptions<string, string>;

/** Maximum length of a Markdown text in characters. */
const LONGEST = 200_000;
/** Maximum nesting depth of blocks, or of marks within a line. */
const DEEPEST = 40;
/**
 * Maximum work for a text. The cost of a parser step is the number of remaining characters in its block,
 * because the search for the end of a mark may scan all of them.
 */
const MOST_WORK = 5_000_000;
/** Maximum cost of the step that starts a block, since most blocks are identified by their first lines. */
const BLOCK_WORK = 500;
/** Maximum number of parser steps for a text. Each block and each inline element is one step. */
const MOST_STEPS = 40_000;

/** Amount of work after which the parser yields to the browser. */
const WORK_PER_TURN = MOST_WORK;
/** Work since the parser last yielded to the browser. */
let recentWork = 0;

/** Returns `true` if the parser should yield to the browser before further work. */
export function shouldYield(): boolean {
  return recentWork > WORK_PER_TURN;
}

/** Error if a text exceeds a limit. The message describes the limit. */
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

  // At every position of a block or a line, the parser first calls one of these two methods.
  override space(text: string): ReturnType<Tokenizer<string, string>["space"]> {
    // Most blocks are identified by their first lines.
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
    // Before the parser searches for emphasis, it masks each such mark, which copies the rest of the text.
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
