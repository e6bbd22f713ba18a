/** Markdown as HTML without scripts. Texts of the model, a tool or a file are untrusted. */

import DOMPurify from "dompurify";
import { Marked, type MarkedOptions, type Token, type Tokens } from "marked";
import remend from "remend";

import { MarkdownBoundError, lexMarkdown } from "./bounded_markdown.js";
import { revealedHtml } from "./hidden.js";
import { escaped, highlighted } from "./highlight.js";

const marked = new Marked<string, string>({ gfm: true, breaks: true });

marked.use({
  renderer: {
    code({ text, lang }: Tokens.Code): string {
      const language = lang?.split(/\s/)[0]?.toLowerCase() ?? "";
      const bar = `<span class="language">${escaped(language)}</span><button type="button" class="copy">Copy</button>`;
      return `<div class="code"><div class="code-bar">${bar}</div><pre tabindex="0"><code>${highlighted(text, language)}</code></pre></div>`;
    },
    codespan({ text }: Tokens.Codespan): string {
      return `<code>${revealedHtml(escaped(text))}</code>`;
    },
    // HTML in a message is displayed as text.
    html({ text }: Tokens.HTML | Tokens.Tag): string {
      return escaped(text);
    },
    // A remote picture would disclose to another server that the message was read.
    image({ href, text }: Tokens.Image): string {
      return `<a href="${escaped(href)}">${escaped(text === "" ? href : text)}</a>`;
    },
  },
});

const TAGS = [
  "a", "b", "blockquote", "br", "button", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "input", "li",
  "ol", "p", "pre", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
];
const ATTRIBUTES = ["class", "href", "start", "align", "type", "checked", "disabled", "tabindex", "rel", "target"];

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer");
  }
  if (node.tagName === "INPUT") {
    node.setAttribute("type", "checkbox");
    node.setAttribute("disabled", "");
  }
});

function sanitize(html: string): string {
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  });
}

/** Part of a text that is drawn separately. While a text grows, only the last part changes. */
export interface Piece {
  readonly key: string;
  readonly html: string;
}

/** Cache of the rendered HTML of each part, by its Markdown. */
const cache = new Map<string, string>();
const CACHED = 500;
/** Texts that could not be rendered, with the error, so that they are not tried again. */
const failed = new Map<string, MarkdownBoundError>();

/** Maximum length in characters of a growing text whose unclosed marks are closed for display. */
const MAX_COMPLETED = 50_000;

/**
 * Renders Markdown as separate parts. If `isGrowing` is `true`, unclosed marks at the end are closed. Fails
 * with a `MarkdownBoundError` if the text exceeds a limit or cannot be parsed.
 */
export function render(source: string, isGrowing: boolean): Piece[] {
  const known = failed.get(source);
  if (known !== undefined) throw known;
  try {
    const tokens = lexMarkdown(isGrowing && source.length < MAX_COMPLETED ? remend(source) : source, marked.defaults as MarkedOptions<string, string>);
    return tokens
      .filter((token) => token.type !== "space")
      .map((token, at) => ({ key: `${at}`, html: renderToken(token, tokens.links) }));
  } catch (error) {
    const reason = error instanceof MarkdownBoundError ? error : new MarkdownBoundError(error instanceof Error ? error.message : String(error));
    if (failed.size >= CACHED) failed.delete(failed.keys().next().value ?? "");
    if (!isGrowing) failed.set(source, reason);
    throw reason;
  }
}

function renderToken(token: Token, links: unknown): string {
  const known = cache.get(token.raw);
  if (known !== undefined) return known;
  const html = sanitize(marked.parser(Object.assign([token], { links }) as never));
  if (cache.size >= CACHED) cache.delete(cache.keys().next().value ?? "");
  cache.set(token.raw, html);
  return html;
}
