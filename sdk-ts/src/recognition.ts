/** Frames of another dialect: an agent that speaks one never answers a client of the other. */

import { OtherDialectError } from "./error.js";
import type { JsonObject } from "./generated/types.js";
import { redact } from "./redact.js";
import type { AnyTypes, Spec } from "./spec.js";

/** A dialect, and the types of its frames (in JSON-RPC: the methods) in one text, with spaces between them. */
export type Recognised = readonly [dialect: string, names: string];

/** How much of a frame an error shows, in characters. */
const SHOWN = 100;

/**
 * The error with which calls fail whose agent sends that frame, if dialects have it that are framed otherwise than the
 * one of `spec`.
 */
export function otherDialect(spec: Spec<AnyTypes>, frame: JsonObject, line: string): OtherDialectError | undefined {
  const { type, jsonrpc, method } = frame;
  let name: unknown;
  let isAnswer: boolean;
  if (spec.framing === "json-rpc") {
    // Of lines: a type, and nothing of JSON-RPC.
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
