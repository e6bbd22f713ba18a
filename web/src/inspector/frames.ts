/** What a line on the wire is. */

import type { Spec } from "agentese";

import { laidOut } from "../text/json.js";

/** A line on the wire, or a remark. */
export interface Entry {
  readonly number: number;
  /** When, in milliseconds since the beginning. */
  readonly t: number;
  readonly direction: "sent" | "received" | "note";
  readonly line: string;
  /** The length of the line in bytes, its end counted. */
  readonly bytes: number;
  readonly kind: "command" | "answer" | "event" | "dialog" | "reply" | "note" | "noise";
  /** The command's name, the event's type, the dialog's method. */
  readonly type: string;
  /** The id as JSON text, where it has one. */
  readonly id: string | undefined;
  /** Whether another tab sent it. */
  readonly others: boolean;
  /** Whether an answer says that the command failed. */
  readonly failed?: boolean;
}

type Found = Pick<Entry, "direction" | "line" | "bytes" | "kind" | "type" | "id"> & { failed?: boolean };

const encoder = new TextEncoder();

/** Says what a line is, as far as the envelope tells. */
export function classify(spec: Spec | undefined, direction: "sent" | "received", line: string): Found {
  const base = { direction, line, bytes: encoder.encode(line).length + 1 };
  let frame: Record<string, unknown>;
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new SyntaxError("no object");
    frame = parsed as Record<string, unknown>;
  } catch {
    return { ...base, kind: "noise", type: "no frame", id: undefined };
  }
  const id = frame["id"] === undefined ? undefined : laidOut(frame["id"]);
  return { ...base, id, ...(spec?.framing === "json-rpc" ? rpc(spec, direction, frame) : flat(spec, direction, frame)) };
}

/** A member that is a text. */
function named(value: unknown, name: string): string | undefined {
  const member = typeof value === "object" && value !== null && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
  return typeof member === "string" ? member : undefined;
}

function rpc(spec: Spec, direction: "sent" | "received", frame: Record<string, unknown>) {
  const method = frame["method"];
  if (typeof method !== "string") {
    const kind = direction === "sent" ? ("reply" as const) : ("answer" as const);
    return { kind, type: "", failed: "error" in frame };
  }
  if (method === spec.notification) {
    return { kind: "event" as const, type: named(frame["params"], "type") ?? method };
  }
  return { kind: direction === "sent" ? ("command" as const) : ("dialog" as const), type: method };
}

function flat(spec: Spec | undefined, direction: "sent" | "received", frame: Record<string, unknown>) {
  const type = named(frame, "type") ?? "";
  if (direction === "sent") {
    const isReply = spec?.dialogFrames?.answer === type;
    return { kind: isReply ? ("reply" as const) : ("command" as const), type };
  }
  if (type === "response") {
    return { kind: "answer" as const, type: named(frame, "command") ?? "", failed: frame["success"] !== true };
  }
  if (spec?.dialogFrames?.request === type) return { kind: "dialog" as const, type: named(frame, "method") ?? type };
  if (spec?.framing === "enveloped" && type === "event") {
    return { kind: "event" as const, type: named(frame["event"], "type") ?? type };
  }
  return { kind: "event" as const, type };
}
