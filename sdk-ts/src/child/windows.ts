/** What Windows needs to start and end a program. Nothing here runs elsewhere. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { win32 } from "node:path";

/** How a program is started. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  /** Whether the arguments are quoted already. */
  readonly verbatim: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Endings of programs where `PATHEXT` says nothing. */
const ENDINGS = ".COM;.EXE;.BAT;.CMD";

/**
 * How a program is started on Windows. Windows itself finds `pi.exe` alone, and not the `pi.cmd` that npm installs; batch
 * files are run by the command interpreter, which reads the arguments once more than other programs do.
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
  // Read by the interpreter, and once more when the batch file hands the arguments on.
  const line = [escapeOnce(`"${file}"`), ...args.map((arg) => escapeOnce(escapeOnce(quote(arg))))].join(" ");
  return { file: value(env, "ComSpec") ?? "cmd.exe", args: ["/d", "/s", "/c", `"${line}"`], verbatim: true };
}

/** The environment with variables added, and those that are undefined taken out. Windows ignores the case of names. */
export function windowsEnvironment(base: Environment, added: Environment): Record<string, string | undefined> {
  const names = new Set(Object.keys(added).map((name) => name.toUpperCase()));
  const kept = Object.entries(base).filter(([name]) => !names.has(name.toUpperCase()));
  return { ...Object.fromEntries(kept), ...added };
}

/** Ends a process and all that it started. Says whether there was such a process. */
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

/** An argument as C programs read it: quotes are escaped, and so are the backslashes before a quote. */
function quote(arg: string): string {
  return `"${arg.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1")}"`;
}

/** The text with everything escaped that means something to the command interpreter. */
function escapeOnce(text: string): string {
  return text.replace(/[()[\]%!^"`<>&|;, *?]/g, "^$&");
}
