/** YAML header of a Markdown file, between two lines of three dashes. */

import { parse } from "yaml";

/** Header and body of a file. */
export interface FrontMatter {
  frontmatter: Record<string, unknown>;
  body: string;
}

/** Parses a file. Without a header, the whole file is the body. Fails if the header is not YAML. */
export function parseFrontmatter(content: string): FrontMatter {
  const text = content.replace(/\r\n?/g, "\n");
  const match = /^---\n([\s\S]*?)\n?---(?:\n|$)([\s\S]*)$/.exec(text);
  if (match === null) return { frontmatter: {}, body: text };
  const head = parse(match[1] ?? "") as unknown;
  const frontmatter = typeof head === "object" && head !== null ? (head as Record<string, unknown>) : {};
  return { frontmatter, body: (match[2] ?? "").trim() };
}

/** Returns the file without its header. */
export function stripFrontmatter(content: string): string {
  return parseFrontmatter(content).body;
}
