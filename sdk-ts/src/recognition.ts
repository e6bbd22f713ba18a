/**
 * Recognition of frames of another dialect. An agent never responds to a client that uses another
 * framing.
 */

import { OtherDialectError } from "./error.js";
import type { JsonObject } from "./generated/types.js";
import { redact } from "./redact.js";
import type { AnyTypes, DialectVocabulary, Spec } from "./spec.js";

export type { DialectVocabulary };

/** Maximum length of the frame in an error, in characters. */
const SHOWN = 100;

/**
 * Returns the error of all calls if the frame belongs to dialects with another framing than
 * `spec`; `undefined` otherwise.
 */
export function otherDialect(spec: Spec<AnyTypes>, frame: JsonObject, line: string): OtherDialectError | undefined {
  const { type, jsonrpc, method } = frame;
  let name: unknown;
  let isAnswer: boolean;
  if (spec.framing === "json-rpc") {
    // In dialects without JSON-RPC, a frame has a type, and no member of JSON-RPC.
    if (typeof type !== "string" || jsonrpc !== undefined) return undefined;
    isAnswer = type === "response" && typeof frame["success"] === "boolean";
    name = type === "event" ? (frame["event"] as JsonObject | null)?.["type"] : type;
  } else {
    if (typeof type === "string") return undefined;
    isAnswer = method === undefined && jsonrpc === "2.0" && ("result" in frame || "error" in frame);
    name = method;
  }
  const has = (names: string): boolean => isAnswer || (typeof name === "string" && names.split(" ").includes(name));
  const dialects = spec.others.filter(([, names]) => has(names)).map(([dialect]) => dialect);
  const last = dialects.pop();
  if (last === undefined) return undefined;
  const seen = dialects.length === 0 ? last : `${dialects.join(", ")} or ${last}`;
  return new OtherDialectError(spec.name, seen, redact(line.slice(0, SHOWN), line.length > SHOWN));
}
