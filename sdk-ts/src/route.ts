/** Routing of received frames: responses, events and dialogs. */

import { DecodeError } from "./error.js";
import type { JsonObject, JsonValue } from "./generated/types.js";
import { type AnyTypes, type Spec, row } from "./spec.js";

/** Frame of the agent, by its kind. */
export type RoutedFrame =
  | {
      readonly kind: "answer";
      /** Id of the response; `undefined` if it is absent, or null in JSON-RPC. */
      readonly id: JsonValue | undefined;
      /** Name of the command in the response, if present. */
      readonly command: string | undefined;
      readonly success: boolean;
      /** Object that contains the data in its member `data` or `result`. */
      readonly frame: JsonObject;
    }
  | {
      readonly kind: "event";
      readonly type: string;
      /** Object of the event, without its envelope. */
      readonly body: JsonObject;
      /** Session of the event, if it names one. */
      readonly session: string | undefined;
    }
  | {
      readonly kind: "dialog";
      readonly id: JsonValue;
      readonly method: string;
      readonly params: JsonObject;
    };

/**
 * Classifies a frame as a response, an event or a dialog.
 *
 * Fails with a {@link DecodeError} for any other frame.
 */
export function route(spec: Spec<AnyTypes>, frame: JsonObject, raw: string): RoutedFrame {
  return spec.framing === "json-rpc" ? jsonRpc(spec, frame, raw) : flat(spec, frame, raw);
}

/** Returns the data of a successful response. */
export function dataOf(frame: JsonObject): JsonValue | undefined {
  return frame["type"] === "response" ? frame["data"] : frame["result"];
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function object(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

function flat(spec: Spec, frame: JsonObject, raw: string): RoutedFrame {
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
  // The published server of Operator sends events without the documented envelope, so both forms
  // are accepted.
  if (type === "event" && spec.framing === "enveloped") {
    const body = object(frame["event"]);
    const inner = text(body?.["type"]);
    if (body === undefined || inner === undefined) throw new DecodeError("the event has no `type`", raw);
    return { kind: "event", type: inner, body, session: undefined };
  }
  return { kind: "event", type, body: frame, session: undefined };
}

function jsonRpc(spec: Spec, frame: JsonObject, raw: string): RoutedFrame {
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
  // A failure with a null id belongs to no request. A success with a null id responds to a request
  // with a null id.
  return { kind: "answer", id: id === null && !success ? undefined : id, command: undefined, success, frame };
}

/** Returns `true` if the declaration names the command, event or dialog. */
export function isKnown(spec: Spec<AnyTypes>, routed: RoutedFrame): boolean {
  switch (routed.kind) {
    case "answer":
      return !routed.success || routed.command === undefined || row(spec.commands, routed.command) !== undefined;
    case "event":
      return row(spec.events, routed.type) !== undefined;
    case "dialog":
      return row(spec.dialogs, routed.method) !== undefined;
  }
}
