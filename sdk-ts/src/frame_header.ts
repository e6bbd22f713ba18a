/** Type and id of a line that cannot be parsed as a frame: too long, nested too deep, cut or malformed. */

/** Members that identify the receiver of a line, as raw JSON, as far as they are readable. */
export type FrameHeader = Partial<Record<string, string>>;

/** Complete string, or a token between strings. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gy;

/** White space between tokens. */
const SPACE = /\s*/y;

/**
 * Reads the `id`, `type` and `method` of the outermost object. Values are skipped without recursion, so that the
 * nesting depth is unlimited. Text after the first structural error is not read.
 */
export function readHeader(text: string): FrameHeader {
  const found: FrameHeader = {};
  let at = text.indexOf("{") + 1;
  if (at === 0) return found;
  const next = (): string | undefined => {
    SPACE.lastIndex = at;
    SPACE.test(text);
    TOKEN.lastIndex = SPACE.lastIndex;
    const token = TOKEN.exec(text)?.[0];
    at = TOKEN.lastIndex;
    return token;
  };
  for (;;) {
    const name = next();
    if (name === undefined || name === "}" || next() !== ":") return found;
    SPACE.lastIndex = at;
    SPACE.test(text);
    const start = SPACE.lastIndex;
    let depth = 0;
    do {
      const token = next();
      if (token === undefined) return found;
      if (token === "{" || token === "[") depth++;
      else if (token === "}" || token === "]") depth--;
      if (depth < 0) return found;
    } while (depth > 0);
    const end = at;
    const after = next();
    // A value without an end may be the beginning of another one.
    if (after === undefined && /\w/.test(text[end - 1] as string)) return found;
    if (name === '"id"' || name === '"type"' || name === '"method"') found[name.slice(1, -1)] = text.slice(start, end);
    if (after !== ",") return found;
  }
}
