import { readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Root of the package; this file runs from `test/` or from `build/test/`. */
export const PACKAGE = findUp("package.json");

/** Root of the repository. */
export const REPOSITORY = dirname(PACKAGE);

function findUp(name: string): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!readdirSync(folder).includes(name)) folder = dirname(folder);
  return folder;
}

export function readText(...path: string[]): string {
  return readFileSync(join(REPOSITORY, ...path), "utf8");
}

export interface TranscriptFile {
  dialect: string;
  scenario: string;
  text: string;
}

/** Returns the recorded sessions of all agents. */
export function transcripts(): TranscriptFile[] {
  const root = join(REPOSITORY, "conformance", "transcripts");
  const files: TranscriptFile[] = [];
  for (const dialect of readdirSync(root).sort().filter((name) => !name.includes("."))) {
    for (const name of readdirSync(join(root, dialect)).sort()) {
      if (!name.endsWith(".jsonl")) continue;
      const text = readFileSync(join(root, dialect, name), "utf8");
      files.push({ dialect, scenario: basename(name, ".jsonl"), text });
    }
  }
  return files;
}

export function transcript(dialect: string, scenario: string): string {
  return readText("conformance", "transcripts", dialect, `${scenario}.jsonl`);
}

/** Returns the known frames that the schemas reject, as `DIALECT/SCENARIO SIDE NUMBER`. */
export function exceptions(): Set<string> {
  const lines = readText("conformance", "schema-exceptions.txt").split("\n");
  return new Set(
    lines.filter((line) => line !== "" && !line.startsWith("#")).map((line) => line.split(" ").slice(0, 3).join(" ")),
  );
}
