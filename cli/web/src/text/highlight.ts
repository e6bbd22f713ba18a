/** Syntax colours for code. */

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

import { revealedHtml } from "./hidden.js";

const LANGUAGES = {
  bash, c, cpp, css, diff, go, ini, java, javascript, json, markdown, python, ruby, rust, sql, typescript, xml, yaml,
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** Maximum length in characters of code that is coloured. */
const LONGEST = 20_000;
/**
 * Pattern of text that would take too long to colour, since each character of such a run is compared with the
 * rest of the run.
 */
const TOO_LONG = /\S{200}|\s{200}/;

const ENDINGS: Readonly<Record<string, string>> = {
  rs: "rust", ts: "typescript", tsx: "typescript", mts: "typescript", js: "javascript", jsx: "javascript", mjs: "javascript",
  py: "python", rb: "ruby", sh: "bash", zsh: "bash", md: "markdown", yml: "yaml", yaml: "yaml", toml: "ini", html: "xml",
  svg: "xml", h: "c", cc: "cpp", hpp: "cpp", json: "json", jsonl: "json", css: "css", go: "go", java: "java", sql: "sql",
  c: "c", cpp: "cpp", xml: "xml", diff: "diff", patch: "diff",
};

/** Returns the language of a file by its name. */
export function languageOf(path: string): string | undefined {
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending] : undefined;
}

/** Escapes text for HTML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * Returns code as escaped HTML with elements for the colours. Hidden characters are replaced by their code
 * points.
 */
export function highlighted(code: string, language: string | undefined): string {
  return revealedHtml(language !== undefined && isColoured(code, language) ? hljs.highlight(code, { language, ignoreIllegals: true }).value : escaped(code));
}

function isColoured(code: string, language: string): boolean {
  return code.length <= LONGEST && hljs.getLanguage(language) !== undefined && !TOO_LONG.test(code);
}
