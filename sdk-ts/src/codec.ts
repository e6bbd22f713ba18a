/**
 * Decoding and encoding of whole frames, for proxies, recorders and checkers.
 *
 * The original line is stored beside the typed view. Undeclared members are therefore retained, and encoding
 * returns the original bytes. An event that contains a key is reduced to its type.
 */

import { DecodeError } from "./error.js";
import { FramingError } from "./framing.js";
import type { JsonObject } from "./generated/types.js";
import { parseObject, stringify } from "./json.js";
import { stripPayload } from "./redact.js";
import { isKnown, route } from "./route.js";
import { type AnyTypes, type Spec, isAnswer, row } from "./spec.js";
import { validUpTo } from "./utf8.js";

/** Kinds of frames. */
export type FrameKind = "answer" | "event" | "dialog" | "command";

/** Decoded line; `known` distinguishes the two forms. */
export type DecodedFrame<F> =
  | {
      /** `true` if the declaration names the command, event or dialog. */
      readonly known: true;
      readonly kind: FrameKind;
      readonly frame: F;
      /** Original text of the line. */
      readonly raw: string;
    }
  | {
      /** `false` if the declaration does not name the command, event or dialog. */
      readonly known: false;
      readonly kind: FrameKind;
      /** Undeclared type, command or method. */
      readonly type: string;
      readonly value: JsonObject;
      /** Original text of the line. */
      readonly raw: string;
    };

/** Returns the text of a line. Fails with a {@link FramingError} if the bytes are not UTF-8. */
export function lineText(line: string | Uint8Array): string {
  if (typeof line === "string") return line;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
  } catch {
    throw new FramingError("invalid_utf8", 0, validUpTo(line));
  }
}

/**
 * Decodes a line from an agent. Fails with a {@link DecodeError} if the line is not a frame of the dialect.
 */
export function decodeServer<T extends AnyTypes>(
  spec: Spec<T>,
  line: string | Uint8Array,
): DecodedFrame<T["serverFrame"]> {
  const text = lineText(line);
  const raw = stripPayload(text) ?? text;
  const value = parseObject(raw);
  const routed = route(spec, value, raw);
  const { kind } = routed;
  if (isKnown(spec, routed)) return { known: true, kind, frame: value as T["serverFrame"], raw };
  const type = kind === "event" ? routed.type : kind === "dialog" ? routed.method : (routed.command ?? "");
  return { known: false, kind, type, value, raw };
}

/**
 * Decodes a line from a client. Fails with a {@link DecodeError} if the line is not a frame of the dialect.
 */
export function decodeClient<T extends AnyTypes>(
  spec: Spec<T>,
  line: string | Uint8Array,
): DecodedFrame<T["clientFrame"]> {
  const raw = lineText(line);
  const value = parseObject(raw);
  const rpc = spec.framing === "json-rpc";
  const name = value[rpc ? "method" : "type"];
  const answers = rpc
    ? name === undefined && ("result" in value || "error" in value)
    : name !== undefined && isAnswer(spec, name);
  if (answers) return { known: true, kind: "answer", frame: value as T["clientFrame"], raw };
  if (typeof name !== "string") throw new DecodeError(`the frame has no \`${rpc ? "method" : "type"}\``, raw);
  if (row(spec.commands, name)) return { known: true, kind: "command", frame: value as T["clientFrame"], raw };
  return { known: false, kind: "command", type: name, value, raw };
}

/** Returns the original bytes of a decoded line, without a line end. */
export function encode(decoded: { readonly raw: string }): Uint8Array {
  return new TextEncoder().encode(decoded.raw);
}

/** Encodes a frame as one line, without a line end. */
export function encodeFrame(frame: object): string {
  return stringify(frame);
}
