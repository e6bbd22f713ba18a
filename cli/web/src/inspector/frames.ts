/** Classification of lines on the wire. */

import type { Spec } from "agentese";

import { prettyJson } from "../text/json.js";

/** Line on the wire, or a note. */
export interface Entry {
  readonly number: number;
  /** Time in milliseconds since the start. */
  readonly t: number;
  readonly direction: "sent" | "received" | "note";
  readonly line: string;
  /** Length of the line in bytes, including its end. */
  readonly bytes: number;
  readonly kind: "command" | "answer" | "event" | "dialog" | "reply" | "note" | "noise";
  /** Name of the command, type of the event, or method of the dialog. */
  readonly type: string;
  /** Id as JSON text, if any. */
  readonly id: string | undefined;
  /** `true` if another tab sent the line. */
  readonly isOtherTab: boolean;
  /** `true` if a response reports a failure. */
  readonly failed?: boolean;
}

type Classification = Pick<Entry, "direction" | "line" | "bytes" | "kind" | "type" | "id"> & { failed?: boolean };

const encoder = new TextEncoder();

/** Classifies a line by its envelope. */
export function classify(spec: Spec | undefined, direction: "sent" | "received", line: string): Classification {
  const base = { direction, line, bytes: encoder.encode(line).length + 1 };
  let frame: Record<string, unknown>;
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new SyntaxError("not an object");
    frame = parsed as Record<string, unknown>;
  } catch {
    return { ...base, kind: "noise", type: "not a frame", id: undefined };
  }
  const id = frame["id"] === undefined ? undefined : prettyJson(frame["id"]);
  return { ...base, id, ...(spec?.framing === "json-rpc" ? rpc(spec, direction, frame) : flat(spec, direction, frame)) };
}

/** Returns a text member. */
function textMember(value: unknown, name: string): string | undefined {
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
    return { kind: "event" as const, type: textMember(frame["params"], "type") ?? method };
  }
  return { kind: direction === "sent" ? ("command" as const) : ("dialog" as const), type: method };
}

function flat(spec: Spec | undefined, direction: "sent" | "received", frame: Record<string, unknown>) {
  const type = textMember(frame, "type") ?? "";
  if (direction === "sent") {
    const isReply = spec?.dialogFrames?.answer === type;
    return { kind: isReply ? ("reply" as const) : ("command" as const), type };
  }
  if (type === "response") {
    return { kind: "answer" as const, type: textMember(frame, "command") ?? "", failed: frame["success"] !== true };
  }
  if (spec?.dialogFrames?.request === type) return { kind: "dialog" as const, type: textMember(frame, "method") ?? type };
  if (spec?.framing === "enveloped" && type === "event") {
    return { kind: "event" as const, type: textMember(frame["event"], "type") ?? type };
  }
  return { kind: "event" as const, type };
}
