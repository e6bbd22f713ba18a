/** Telling apart what an agent sends: answers, events and dialogs. */

import { DecodeError } from "./error.js";
import type { JsonObject, JsonValue } from "./generated/types.js";
import { type AnyTypes, type Spec, row } from "./spec.js";

/** A line from the agent, as far as routing needs to know it. */
export type Routed =
  | {
      readonly kind: "answer";
      /** The id; none where there is none, or JSON-RPC has null. */
      readonly id: JsonValue | undefined;
      /** The command that it names. */
      readonly command: string | undefined;
      readonly success: boolean;
      /** The object whose member `data` or `result` holds the data. */
      readonly frame: JsonObject;
    }
  | {
      readonly kind: "event";
      readonly type: string;
      /** The event's object, without its envelope. */
      readonly body: JsonObject;
      /** The session that it belongs to, where it says so. */
      readonly session: string | undefined;
    }
  | {
      readonly kind: "dialog";
      readonly id: JsonValue;
      readonly method: string;
      readonly params: JsonObject;
    };

/**
 * Tells whether a frame is an answer, an event or a dialog.
 *
 * Fails with a {@link DecodeError} where it is none of these.
 */
export function route(spec: Spec<AnyTypes>, frame: JsonObject, raw: string): Routed {
  return spec.framing === "json-rpc" ? jsonRpc(spec, frame, raw) : flat(spec, frame, raw);
}

/** The data of an answer that succeeded. */
export function dataOf(frame: JsonObject): JsonValue | undefined {
  return frame["type"] === "response" ? frame["data"] : frame["result"];
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function object(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

function flat(spec: Spec, frame: JsonObject, raw: string): Routed {
  const type = text(frame["type"]);
  if (type === undefined) throw new DecodeError("the frame has no `type`", raw);
  if (type === "response") {
    const success = frame["success"];
    if (typeof success !== "boolean") throw new DecodeError("the response has no `success`", raw);
    return { kind: "answer", id: frame["id"], command: text(frame["command"]), success, frame };
  }
  const own = Object.keys(spec.dialogs).find((name) => spec.dialogs[name]?.frames?.request === type);
  if (own !== undefined || type === spec.dialogFrames?.request) {
    const { id } = frame;
    const method = own ?? text(frame["method"]);
    if (id === undefined) throw new DecodeError("the dialog has no `id`", raw);
    if (method === undefined) throw new DecodeError("the dialog has no `method`", raw);
    return { kind: "dialog", id, method, params: frame };
  }
  // Operator's stored server sends events bare although its document wraps them; both are read.
  if (type === "event" && spec.framing === "enveloped") {
    const body = object(frame["event"]);
    const inner = text(body?.["type"]);
    if (body === undefined || inner === undefined) throw new DecodeError("the event has no `type`", raw);
    return { kind: "event", type: inner, body, session: undefined };
  }
  return { kind: "event", type, body: frame, session: undefined };
}

function jsonRpc(spec: Spec, frame: JsonObject, raw: string): Routed {
  const { id } = frame;
  const method = text(frame["method"]);
  if (method !== undefined) {
    const params = object(frame["params"]) ?? {};
    if (id !== undefined) return { kind: "dialog", id, method, params };
    if (method !== spec.notification) {
      throw new DecodeError(`\`${method}\` is not a notification of this dialect`, raw);
    }
    const type = text(params["type"]);
    if (type === undefined) throw new DecodeError("the event has no `type`", raw);
    const session = spec.session === undefined ? undefined : text(params[spec.session]);
    return { kind: "event", type, body: params, session };
  }
  if (id === undefined) throw new DecodeError("the frame has neither `method` nor `id`", raw);
  const success = !("error" in frame);
  if (success && !("result" in frame)) throw new DecodeError("the response has neither `result` nor `error`", raw);
  // A failure with a null id belongs to no request; a success with one answers a null id.
  return { kind: "answer", id: id === null && !success ? undefined : id, command: undefined, success, frame };
}

/** Whether the declaration names the command, event or dialog. */
export function isKnown(spec: Spec<AnyTypes>, routed: Routed): boolean {
  switch (routed.kind) {
    case "answer":
      return !routed.success || routed.command === undefined || row(spec.commands, routed.command) !== undefined;
    case "event":
      return row(spec.events, routed.type) !== undefined;
    case "dialog":
      return row(spec.dialogs, routed.method) !== undefined;
  }
}
