/** Changes to files by tools of an agent, found independently of the tool names. */

import type { ToolBlock } from "agentese/ui";
import { readArguments } from "agentese/ui";
import { diffLines } from "diff";

export interface Line {
  readonly kind: "same" | "added" | "removed" | "gap";
  readonly text: string;
  readonly old?: number | undefined;
  readonly new?: number | undefined;
}

/** Change to one file. */
export interface Change {
  readonly path: string;
  readonly lines: readonly Line[];
  readonly added: number;
  readonly removed: number;
  /** `true` if the tool wrote the whole file. */
  readonly whole: boolean;
}

/** Number of unchanged lines that are displayed before and after a change. */
const AROUND = 3;
/** Maximum number of changed lines up to which the shortest difference is computed. */
const MOST_EDITS = 500;

/** Cache of the change for each tool call. An updated call is a new object. */
const known = new WeakMap<ToolBlock, { readonly change: Change | undefined }>();

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Returns the change of a tool call, if its arguments or details describe one. */
export function changeOf(tool: ToolBlock): Change | undefined {
  let found = known.get(tool);
  if (found === undefined) {
    found = { change: findChange(tool) };
    known.set(tool, found);
  }
  return found.change;
}

function findChange(tool: ToolBlock): Change | undefined {
  const given = (readArguments(tool) ?? {}) as Record<string, unknown>;
  const path = text(given["path"]) ?? text(given["file_path"]) ?? text(given["filePath"]) ?? text(given["file"]);
  if (path === undefined) return undefined;
  const reported = text((tool.details as { diff?: unknown } | null | undefined)?.diff);
  if (reported !== undefined && reported !== "") return changeWithCounts(path, fromNumbered(reported), false);
  const old = text(given["oldText"]) ?? text(given["old_string"]) ?? text(given["old_text"]) ?? text(given["oldString"]);
  const now = text(given["newText"]) ?? text(given["new_string"]) ?? text(given["new_text"]) ?? text(given["newString"]);
  if (old !== undefined && now !== undefined) return changeWithCounts(path, lineDiff(old, now), false);
  const edits = given["edits"];
  if (Array.isArray(edits)) {
    const parts = edits.flatMap((one: unknown, at) => {
      const edit = (typeof one === "object" && one !== null ? one : {}) as Record<string, unknown>;
      const [before, after] = [text(edit["oldText"]) ?? text(edit["old_text"]), text(edit["newText"]) ?? text(edit["new_text"])];
      if (before === undefined || after === undefined) return [];
      return [...(at > 0 ? [{ kind: "gap", text: "" } as const] : []), ...lineDiff(before, after)];
    });
    if (parts.length > 0) return changeWithCounts(path, parts, false);
  }
  const content = text(given["content"]);
  if (content !== undefined && /write|create/i.test(tool.name)) return changeWithCounts(path, lineDiff("", content), true);
  return undefined;
}

function changeWithCounts(path: string, lines: Line[], whole: boolean): Change {
  const count = (kind: Line["kind"]): number => lines.filter((line) => line.kind === kind).length;
  return { path, lines, added: count("added"), removed: count("removed"), whole };
}

/**
 * Parses a diff with line numbers, as agents of the pi family send it: `+12 text`, `-12 text`, ` 12 text`.
 */
function fromNumbered(diff: string): Line[] {
  return diff.split("\n").flatMap((line): Line[] => {
    if (/^(@@|---|\+\+\+|diff |index )/.test(line)) return line.startsWith("@@") ? [{ kind: "gap", text: "" }] : [];
    const [, sign = " ", number, rest] = /^([-+ ])\s*(\d+)?(?: (.*)|$)/.exec(line) ?? [];
    if (number === undefined && /^\s*\.\.\.$/.test(line)) return [{ kind: "gap", text: "" }];
    const at = number === undefined ? undefined : Number(number);
    const shown = number === undefined ? line.slice(1) : (rest ?? "");
    if (sign === "+") return [{ kind: "added", text: shown, new: at }];
    if (sign === "-") return [{ kind: "removed", text: shown, old: at }];
    return [{ kind: "same", text: shown, old: at }];
  });
}

/** Returns the changed lines between two texts, with a few unchanged lines around them. */
function lineDiff(old: string, now: string): Line[] {
  const lines = old === "" ? all("added", now) : (shortest(old, now) ?? replaced(old, now));
  const isNear = near(lines);
  return lines.flatMap((line, at): Line[] => {
    if (isNear[at]) return [line];
    return isNear[at - 1] ? [{ kind: "gap", text: "" }] : [];
  });
}

const all = (kind: Line["kind"], text: string): Line[] =>
  text === "" ? [] : text.replace(/\n$/, "").split("\n").map((line) => ({ kind, text: line }));

/** Returns the shortest difference between two texts; `undefined` if more than `MOST_EDITS` lines differ. */
function shortest(old: string, now: string): Line[] | undefined {
  return diffLines(old, now, { maxEditLength: MOST_EDITS })?.flatMap((part) => all(part.added ? "added" : part.removed ? "removed" : "same", part.value));
}

/**
 * Returns the difference as one block of removed lines and one block of added lines. Equal lines at both ends
 * are kept as unchanged.
 */
function replaced(old: string, now: string): Line[] {
  const [before, after] = [all("removed", old), all("added", now)];
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head]?.text === after[head]?.text) head++;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail)?.text === after.at(-1 - tail)?.text) tail++;
  const same = (lines: Line[]): Line[] => lines.map(({ text }) => ({ kind: "same", text }));
  return [
    ...same(before.slice(0, head)),
    ...before.slice(head, before.length - tail),
    ...after.slice(head, after.length - tail),
    ...same(before.slice(before.length - tail)),
  ];
}

/** Returns a flag for each line: `true` if it is changed or near a change. */
function near(lines: readonly Line[]): boolean[] {
  const found = lines.map(() => false);
  lines.forEach(({ kind }, at) => kind !== "same" && found.fill(true, Math.max(0, at - AROUND), at + AROUND + 1));
  return found;
}
