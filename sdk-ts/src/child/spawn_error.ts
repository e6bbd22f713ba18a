/** Why a program could not be started. */

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { resolve } from "node:path";

import { AgentError } from "../error.js";

/** The kinds of failure to start a program. */
export type SpawnFault =
  /** There is no such program. */
  | "not_found"
  /** There is such a file, but it cannot be run: no permission, no program, or its interpreter is missing. */
  | "not_executable"
  /** Somebody has the program open for writing. Trying again may help. */
  | "busy"
  /** The working directory does not exist or cannot be entered. */
  | "working_directory"
  /** Anything else: no memory, no descriptors. */
  | "other";

const TEXTS: Record<SpawnFault, string> = {
  not_found: "program not found",
  not_executable: "not an executable program",
  busy: "the program's file is being written",
  working_directory: "the working directory cannot be entered",
  other: "the system refused",
};

/** The agent's program could not be started. */
export class SpawnError extends AgentError {
  override readonly kind = "spawn";
  readonly fault: SpawnFault;

  constructor(
    /** The program, as it was asked for. */
    readonly program: string,
    cwd: string | undefined,
    cause: unknown,
  ) {
    const fault = faultOf(program, cwd, cause);
    super(`cannot start ${program}: ${TEXTS[fault]}`, { cause });
    this.fault = fault;
  }
}

/** The system reports a missing directory and a missing program alike, so the directory is looked at. */
function faultOf(program: string, cwd: string | undefined, cause: unknown): SpawnFault {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const path = ["ENOENT", "ENOTDIR", "EACCES", "ELOOP"].includes(code);
  if (path && cwd !== undefined && !canEnter(cwd)) return "working_directory";
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      // A path that exists and yet is "not found" lacks the interpreter that its first line names.
      return /[\\/]/.test(program) && existsSync(resolve(cwd ?? ".", program)) ? "not_executable" : "not_found";
    case "EACCES":
    case "EPERM":
    case "ENOEXEC":
    case "EISDIR":
    case "ELOOP":
      return "not_executable";
    case "ETXTBSY":
      return "busy";
    default:
      return "other";
  }
}

function canEnter(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
