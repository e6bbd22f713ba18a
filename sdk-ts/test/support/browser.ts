import { existsSync } from "node:fs";
import { join } from "node:path";

/** Returns the path of the browser in `CHROMIUM`, or of an installed one; `undefined` if it is missing. */
export function chromiumPath(): string | undefined {
  const named = process.env["CHROMIUM"];
  if (named) return named;
  const folders = (process.env["PATH"] ?? "").split(":");
  const names = ["chromium", "chromium-browser", "google-chrome"];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
}
