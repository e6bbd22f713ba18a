/** Analysis of frames: cause and effect, duration, size, and mismatches with the declaration. */

import type { Spec } from "agentese";
import { validate } from "agentese/check";

import { DIALECTS } from "../dialects/index.js";
import type { Entry } from "./frames.js";

/** Effects of a command or dialog. */
export interface Effect {
  readonly answer: Entry | undefined;
  /** Time from the command to its response, in milliseconds. */
  readonly took: number | undefined;
  /** Events until the next command that changes something. */
  readonly events: readonly Entry[];
}

/**
 * Returns `true` if `answer` is the response to the command `question`, or the reply to the dialog `question`.
 */
function isResponseTo(question: Entry, answer: Entry): boolean {
  const kinds = question.kind === "command" ? "answer" : question.kind === "dialog" ? "reply" : undefined;
  return answer.kind === kinds && answer.id !== undefined && answer.id === question.id;
}

/** Returns `true` if a command changes nothing. */
function isReadOnly(spec: Spec | undefined, { type }: Entry): boolean {
  return spec !== undefined && Object.hasOwn(spec.commands, type) && spec.commands[type]?.reads === true;
}

/** Returns the effect of a command or a dialog. */
export function effectOf(entries: readonly Entry[], entry: Entry, spec: Spec | undefined): Effect {
  const start = entries.indexOf(entry);
  const behind = start < 0 ? [] : entries.slice(start + 1);
  const answer = behind.find((one) => isResponseTo(entry, one));
  const took = answer && answer.t - entry.t;
  if (entry.kind !== "command" || isReadOnly(spec, entry)) return { answer, took, events: [] };
  const end = behind.findIndex((one) => one.kind === "command" && !isReadOnly(spec, one));
  const events = (end < 0 ? behind : behind.slice(0, end)).filter((one) => one.kind === "event");
  return { answer, took, events };
}

/** Returns the command or dialog that an entry answers. */
export function causeOf(entries: readonly Entry[], entry: Entry): Entry | undefined {
  if (entry.kind !== "answer" && entry.kind !== "reply") return undefined;
  return entries.slice(0, entries.indexOf(entry)).findLast((one) => isResponseTo(one, entry));
}

/** Returns the mismatch between a frame of the agent and its declaration; `undefined` if the frame fits. */
export function mismatchOf(spec: Spec | undefined, entry: Entry, command?: string): { path: string; message: string } | undefined {
  if (entry.kind === "noise") return { path: "", message: "the line is not a JSON object" };
  if (spec === undefined || entry.direction !== "received") return undefined;
  const frame = JSON.parse(entry.line) as Record<string, never>;
  const isRpc = spec.framing === "json-rpc";
  switch (entry.kind) {
    case "answer": {
      if (entry.failed) return undefined;
      const name = command ?? entry.type;
      return validate(spec as never, "answer", name, isRpc ? frame["result"] : frame["data"]) ?? undefined;
    }
    case "event": {
      const isWrapped = spec.framing === "enveloped" && frame["type"] === "event";
      const body = isRpc ? frame["params"] : isWrapped ? frame["event"] : frame;
      return validate(spec as never, "event", entry.type, body) ?? undefined;
    }
    case "dialog":
      return validate(spec as never, "dialog", entry.type, isRpc ? frame["params"] : frame) ?? undefined;
    default:
      return undefined;
  }
}

/** Size of all frames of one kind. */
export interface Cost {
  readonly name: string;
  readonly direction: "sent" | "received";
  readonly frames: number;
  readonly bytes: number;
  /** Bytes of the members that repeat content of earlier events. */
  readonly saved: number;
}

/** Returns the total size for each kind of frame, largest first. */
export function costs(entries: readonly Entry[], dialect: string): Cost[] {
  const paths = (Object.hasOwn(DIALECTS, dialect) && DIALECTS[dialect]?.dialect.repeated) || {};
  const found = new Map<string, { name: string; direction: "sent" | "received"; frames: number; bytes: number; saved: number }>();
  for (const entry of entries) {
    if (entry.direction === "note") continue;
    const name = entry.kind === "answer" && entry.type !== "" ? `${entry.type} (answer)` : entry.type || entry.kind;
    const key = `${entry.direction} ${name}`;
    const cost = found.get(key) ?? { name, direction: entry.direction, frames: 0, bytes: 0, saved: 0 };
    cost.frames++;
    cost.bytes += entry.bytes;
    cost.saved += entry.kind === "event" ? repeated(entry, (Object.hasOwn(paths, entry.type) && paths[entry.type]) || []) : 0;
    found.set(key, cost);
  }
  return [...found.values()].sort((one, other) => other.bytes - one.bytes);
}

const encoder = new TextEncoder();

/** Returns the value as JSON, or an empty text if it is nested too deep. */
function flat(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "";
  }
}

/** Returns the number of bytes in the members of an event that repeat content of earlier events. */
function repeated(entry: Entry, paths: readonly string[]): number {
  if (paths.length === 0) return 0;
  const frame: unknown = JSON.parse(entry.line);
  return paths.reduce((sum, path) => {
    const names = path.split(".");
    const value = names.reduce<unknown>((at, name) => (typeof at === "object" && at !== null && Object.hasOwn(at, name) ? (at as Record<string, unknown>)[name] : undefined), frame);
    if (value === undefined) return sum;
    return sum + encoder.encode(`"${names.at(-1)}":${flat(value)},`).length;
  }, 0);
}
