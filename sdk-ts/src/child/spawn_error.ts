/** Errors at the start of a program. */

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { resolve } from "node:path";

import { AgentError } from "../error.js";

/** Kinds of failure at the start of a program. */
export type SpawnErrorKind =
  /** The program does not exist. */
  | "not_found"
  /** The file exists but cannot be executed: no permission, no program format, or no interpreter. */
  | "not_executable"
  /** Another process has the program open for writing. A retry may succeed. */
  | "busy"
  /** The working directory does not exist or cannot be entered. */
  | "working_directory"
  /** Any other failure, for example no memory or no descriptors. */
  | "other";

const TEXTS: Record<SpawnErrorKind, string> = {
  not_found: "program not found",
  not_executable: "not an executable program",
  busy: "the program's file is being written",
  working_directory: "the working directory cannot be entered",
  other: "the system refused",
};

/** The agent's program could not be started. */
export class SpawnError extends AgentError {
  override readonly kind = "spawn";
  readonly reason: SpawnErrorKind;

  constructor(
    /** Program as given by the caller. */
    readonly program: string,
    cwd: string | undefined,
    cause: unknown,
  ) {
    const reason = kindOf(program, cwd, cause);
    super(`cannot start ${program}: ${TEXTS[reason]}`, { cause });
    this.reason = reason;
  }
}

/**
 * Returns the kind of a failure. The system reports a missing directory and a missing program with the same
 * error, so the directory is checked here.
 */
function kindOf(program: string, cwd: string | undefined, cause: unknown): SpawnErrorKind {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const path = ["ENOENT", "ENOTDIR", "EACCES", "ELOOP"].includes(code);
  if (path && cwd !== undefined && !canEnter(cwd)) return "working_directory";
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      // An existing path that is "not found" lacks the interpreter in its first line.
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
