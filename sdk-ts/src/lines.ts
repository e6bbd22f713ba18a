/** Command lines for dialects in which some revisions rename parameters or limit the length of a line. */

import { commandLine } from "./connection/writer.js";
import { UsageError } from "./error.js";
import { type LineRules, row } from "./spec.js";

type Names = Readonly<Record<string, string>>;

export const lines: LineRules = {
  write(spec, command, id, params, known) {
    const plain = (params: object): string => commandLine(spec, command, id, params);
    const names = row(spec.commands, command)?.renamed;
    const { revision } = known;
    // Until the revision is known, the line contains each renamed parameter under all its names, unless the
    // line is then too long for some revision.
    if (revision === undefined) {
      if (names === undefined) return plain(params);
      const line = plain({ ...params, ...withAliases(params, names) });
      const longest = Math.min(...(spec.revisions ?? []).map((one) => one.longest ?? Infinity));
      return byteLength(line) > longest ? plain(params) : line;
    }
    const own = revision.renamed?.[command];
    const line = plain(own === undefined ? params : renameParams(params, own));
    lines.check(known, command, line);
    return line;
  },

  check(known, what, line) {
    const { revision } = known;
    const longest = revision?.longest;
    if (longest === undefined) return;
    const bytes = byteLength(line);
    if (bytes <= longest) return;
    const agent = known.id(revision);
    throw new UsageError(`\`${what}\` was not sent: its line has ${bytes} bytes, and ${agent} reads ${longest} at most`);
  },
};

/** Returns the length of a line in UTF-8 bytes. */
function byteLength(line: string): number {
  return new TextEncoder().encode(line).length;
}

/** Returns the parameters with each renamed one added under its new name, unless that name is present. */
function withAliases(params: object, names: Names): object {
  const members = params as Readonly<Record<string, unknown>>;
  const both = Object.entries(names).filter(([name, later]) => name in members && !(later in members));
  return Object.fromEntries(both.map(([name, later]) => [later, members[name]]));
}

/** Returns the parameters under their new names, in the same order. */
function renameParams(params: object, names: Names): object {
  const entries = Object.entries(params).map(([name, value]) => {
    const later = Object.hasOwn(names, name) ? names[name] : undefined;
    return [later === undefined || later in params ? name : later, value] as const;
  });
  return Object.fromEntries(entries);
}
