/** Lines of dialects with renamed parameters or length limits in some revisions. */

import { commandLine } from "./connection/writer.js";
import { UsageError } from "./error.js";
import { type LineRules, row } from "./spec.js";

type Names = Readonly<Record<string, string>>;

export const lines: LineRules = {
  write(spec, command, id, params, known) {
    const plain = (params: object): string => commandLine(spec, command, id, params);
    const names = row(spec.commands, command)?.renamed;
    const { revision } = known;
    // Until the revision is known, parameters appear under all their names, unless that line is too long for
    // a revision.
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

/** Returns the renamed members under their new names, if these are absent. */
function withAliases(params: object, names: Names): object {
  const members = params as Readonly<Record<string, unknown>>;
  const both = Object.entries(names).filter(([name, later]) => name in members && !(later in members));
  return Object.fromEntries(both.map(([name, later]) => [later, members[name]]));
}

/** Returns the parameters with the new names, in their order. */
function renameParams(params: object, names: Names): object {
  const entries = Object.entries(params).map(([name, value]) => {
    const later = Object.hasOwn(names, name) ? names[name] : undefined;
    return [later === undefined || later in params ? name : later, value] as const;
  });
  return Object.fromEntries(entries);
}
