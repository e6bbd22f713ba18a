/** The head of a Markdown file, in YAML between two lines of three dashes. */

import { parse } from "yaml";

/** What stands in the head, and the rest. */
export interface FrontMatter {
  frontmatter: Record<string, unknown>;
  body: string;
}

/** Takes a file apart. A file without a head is all body. Fails where the head is no YAML. */
export function parseFrontmatter(content: string): FrontMatter {
  const text = content.replace(/\r\n?/g, "\n");
  const match = /^---\n([\s\S]*?)\n?---(?:\n|$)([\s\S]*)$/.exec(text);
  if (match === null) return { frontmatter: {}, body: text };
  const head = parse(match[1] ?? "") as unknown;
  const frontmatter = typeof head === "object" && head !== null ? (head as Record<string, unknown>) : {};
  return { frontmatter, body: (match[2] ?? "").trim() };
}

/** The file without its head. */
export function stripFrontmatter(content: string): string {
  return parseFrontmatter(content).body;
}
