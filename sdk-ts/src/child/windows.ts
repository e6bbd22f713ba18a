/** Start and end of programs on Windows. Other systems do not use this module. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { win32 } from "node:path";

/** Command line for the start of a program. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  /** `true` if the arguments are already quoted. */
  readonly verbatim: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Extensions of programs if `PATHEXT` is unset. */
const ENDINGS = ".COM;.EXE;.BAT;.CMD";

/**
 * Returns the command line for a program on Windows.
 *
 * Windows itself finds `pi.exe` only, not the `pi.cmd` that npm installs. The command interpreter runs batch
 * files, and parses their arguments once more.
 */
export function windowsLaunch(
  program: string,
  args: readonly string[],
  env: Environment,
  cwd: string,
  exists: (path: string) => boolean = existsSync,
): Launch {
  const file = find(program, env, cwd, exists);
  if (file === undefined || !/\.(?:cmd|bat)$/i.test(file)) return { file: file ?? program, args, verbatim: false };
  // The interpreter parses this line once, and again when a batch file passes the arguments on.
  const line = [escapeOnce(`"${file}"`), ...args.map((arg) => escapeOnce(escapeOnce(quote(arg))))].join(" ");
  return { file: value(env, "ComSpec") ?? "cmd.exe", args: ["/d", "/s", "/c", `"${line}"`], verbatim: true };
}

/**
 * Merges variables into an environment; `undefined` removes a variable. Windows ignores the case of names.
 */
export function windowsEnvironment(base: Environment, added: Environment): Record<string, string | undefined> {
  const names = new Set(Object.keys(added).map((name) => name.toUpperCase()));
  const kept = Object.entries(base).filter(([name]) => !names.has(name.toUpperCase()));
  return { ...Object.fromEntries(kept), ...added };
}

/** Ends a process and its descendants. Returns `true` if the process existed. */
export function endTree(id: number): boolean {
  const { status } = spawnSync("taskkill", ["/pid", String(id), "/T", "/F"], { stdio: "ignore", windowsHide: true });
  return status === 0;
}

function find(program: string, env: Environment, cwd: string, exists: (path: string) => boolean): string | undefined {
  const hasPath = /[\\/]/.test(program);
  const folders = hasPath ? [cwd] : (value(env, "PATH") ?? "").split(";").filter((folder) => folder !== "");
  const endings = (value(env, "PATHEXT") ?? ENDINGS).split(";").filter((ending) => ending !== "");
  const names = win32.extname(program) === "" ? endings.map((ending) => program + ending) : [program, ...endings.map((ending) => program + ending)];
  for (const folder of folders) {
    const found = names.map((name) => win32.resolve(folder, name)).find(exists);
    if (found !== undefined) return found;
  }
  return undefined;
}

function value(env: Environment, name: string): string | undefined {
  return Object.entries(env).find(([other]) => other.toUpperCase() === name.toUpperCase())?.[1];
}

/** Quotes an argument for C programs: escapes quotes, and backslashes before a quote. */
function quote(arg: string): string {
  return `"${arg.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1")}"`;
}

/** Escapes the special characters of the command interpreter. */
function escapeOnce(text: string): string {
  return text.replace(/[()[\]%!^"`<>&|;, *?]/g, "^$&");
}
