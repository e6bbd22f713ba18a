/** Decoding of lines from a client, and encoding of lines to the client. */

import { check } from "../check.js";
import { DecodeError } from "../error.js";
import { shapes } from "../generated/shapes.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { parseObject, rawMember, stringify } from "../json.js";
import { type AnyTypes, type Spec, isAnswer, row } from "../spec.js";
import { type TypeMismatch, mismatchText } from "../validation.js";
import { CommandError } from "./command_error.js";
import type { ServeSpec, ServedCommand } from "./spec.js";

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** Action that follows from a line of the client. Ids are raw JSON. */
export type LineAction =
  | { readonly kind: "ignored" }
  /** A response has to be sent. */
  | { readonly kind: "answer"; readonly line: string; readonly isUnreadable?: true }
  /** The line answers a question. */
  | { readonly kind: "question"; readonly id: string; readonly members: JsonObject }
  | {
      readonly kind: "command";
      readonly id: string | undefined;
      readonly name: string;
      readonly command: ServedCommand;
      readonly params: JsonObject;
    };

const IGNORED: LineAction = { kind: "ignored" };

function respond(line: string): LineAction {
  return { kind: "answer", line };
}

/** Decodes a line of the client. */
export function readLine<T extends AnyTypes>(serving: ServeSpec<T>, text: string): LineAction {
  const { spec } = serving;
  const flat = spec.framing !== "json-rpc";
  let frame: JsonObject;
  try {
    // Every member is parsed here, so that a malformed member fails now and not at a later access.
    frame = { ...parseObject(text) };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    if (text.trim() === "" && !serving.blankLineIsError) return IGNORED;
    if (!flat && error.message.startsWith("expected an object, found")) return respond(invalidRequest(error.message));
    return { kind: "answer", line: parseErrorLine(serving, error.message), isUnreadable: true };
  }
  if (!flat && frame["jsonrpc"] !== "2.0") return respond(invalidRequest("its `jsonrpc` is not \"2.0\""));
  const id = frame["id"] === undefined ? undefined : rawMember(text, "id", frame["id"]);
  const name = frame[flat ? "type" : "method"];
  const answers = flat
    ? name !== undefined && isAnswer(spec, name)
    : name === undefined && ("result" in frame || "error" in frame);
  if (answers) {
    const members = flat ? frame : object(frame["result"]);
    return typeof frame["id"] === "string" ? { kind: "question", id: frame["id"], members } : IGNORED;
  }
  if (typeof name !== "string") return respond(missingCommand(serving, id, name));
  const command = row(serving.commands, name);
  if (command === undefined) {
    // A JSON-RPC notification never receives a response.
    return id === undefined && !flat ? IGNORED : respond(unknownCommand(serving, id, name));
  }
  if (id === undefined && !flat) return IGNORED;
  const params = flat ? withoutEnvelope(frame) : normalizeParams(command, frame["params"] ?? {});
  const mismatch = isObject(params) ? mismatchOf(command, params) : { path: "params", message: "expected an object", outsideSet: false };
  if (mismatch !== undefined) {
    const error = new CommandError(`Invalid parameters of \`${name}\`: ${mismatchText(mismatch)}`, { code: INVALID_PARAMS });
    return respond(errorLine(serving, id, name, error, mismatch.outsideSet ? "outside-set" : "parameters"));
  }
  return { kind: "command", id, name, command, params: params as JsonObject };
}

function mismatchOf(command: ServedCommand, params: JsonObject): TypeMismatch | undefined {
  return command.params === undefined ? undefined : check(shapes, command.params, params);
}

/**
 * Returns the parameters of a JSON-RPC request. Parameters of a command without parameters are ignored, and
 * null is equivalent to an absent member.
 */
function normalizeParams(command: ServedCommand, params: JsonValue): JsonValue {
  if (command.params === undefined) return {};
  if (!isObject(params) || mismatchOf(command, params) === undefined) return params;
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
}

function withoutEnvelope(frame: JsonObject): JsonObject {
  const { id: _id, type: _type, ...params } = frame;
  return params;
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function object(value: JsonValue | undefined): JsonObject {
  return value !== undefined && isObject(value) ? value : {};
}

function unknownCommand<T extends AnyTypes>(serving: ServeSpec<T>, id: string | undefined, name: string): string {
  const text = serving.unknownCommandText.replace("{command}", () => name);
  const echoed = serving.unknownCommandEchoesId ? id : undefined;
  if (serving.spec.framing === "json-rpc") return rpcError(echoed, { code: METHOD_NOT_FOUND, message: text });
  return failureLine(serving, echoed, name, text);
}

/** Returns the response to an object that names no command. */
function missingCommand<T extends AnyTypes>(serving: ServeSpec<T>, id: string | undefined, name: JsonValue | undefined): string {
  if (serving.spec.framing === "json-rpc") {
    return name === undefined ? invalidRequest("it has no `method`") : unknownCommand(serving, id, stringify(name));
  }
  const reason = name === undefined ? "`type` is missing" : `\`type\` is ${stringify(name)}, expected a string`;
  const echoed = serving.unknownCommandEchoesId ? id : undefined;
  return failureLine(serving, echoed, serving.spec.parseCommand, serving.parsePrefix + reason);
}

function invalidRequest(reason: string): string {
  return rpcError(undefined, { code: INVALID_REQUEST, message: "Invalid request", data: reason });
}

/** Returns the response to bytes that are not a frame. */
export function parseErrorLine<T extends AnyTypes>(serving: ServeSpec<T>, reason: string): string {
  if (serving.spec.framing === "json-rpc") {
    return rpcError(undefined, { code: PARSE_ERROR, message: "Parse error", data: reason });
  }
  return failureLine(serving, undefined, serving.spec.parseCommand, serving.parsePrefix + reason);
}

/**
 * Origin of a failure: the handler, invalid parameters, or a value that is not in a closed enumeration. In
 * the last case, the response contains command and id in every dialect.
 */
export type FailureOrigin = "handler" | "parameters" | "outside-set";

/** Returns the response to a rejected command. */
export function errorLine<T extends AnyTypes>(
  serving: ServeSpec<T>,
  id: string | undefined,
  command: string,
  error: CommandError,
  origin: FailureOrigin = "handler",
): string {
  const { handlerFailure } = serving;
  if (handlerFailure === "json-rpc") {
    const { message, data, code = INTERNAL_ERROR } = error;
    return rpcError(id, data === undefined ? { code, message } : { code, message, data });
  }
  const nameless =
    handlerFailure !== "own" &&
    origin !== "outside-set" &&
    !(origin === "handler" ? handlerFailure.except : handlerFailure.invalid).includes(command);
  return nameless ? parseErrorLine(serving, error.message) : failureLine(serving, id, command, error.message);
}

/** Returns the response to a successful command. */
export function successLine<T extends AnyTypes>(
  serving: ServeSpec<T>,
  id: string | undefined,
  command: string,
  data: unknown,
): string {
  const body = data !== undefined ? stringify(data) : serving.emptyData ? "{}" : undefined;
  if (serving.spec.framing === "json-rpc") return `{"jsonrpc":"2.0","id":${id ?? "null"},"result":${body ?? "{}"}}`;
  return `${responseHead(serving, id, command, true)}${body === undefined ? "" : `,"data":${body}`}}`;
}

function failureLine<T extends AnyTypes>(
  serving: ServeSpec<T>,
  id: string | undefined,
  command: string,
  text: string,
): string {
  return `${responseHead(serving, id, command, false)},"error":${stringify(text)}}`;
}

function rpcError(id: string | undefined, error: object): string {
  return `{"jsonrpc":"2.0","id":${id ?? "null"},"error":${stringify(error)}}`;
}

function responseHead<T extends AnyTypes>(
  serving: ServeSpec<T>,
  id: string | undefined,
  command: string,
  success: boolean,
): string {
  const idMember = id === undefined ? [] : [`"id":${id}`];
  const name = `"command":${stringify(command)}`;
  const type = '"type":"response"';
  const order = serving.idFirst ? [...idMember, type, name] : [type, name, ...idMember];
  return `{${[...order, `"success":${success}`].join(",")}`;
}

/** Returns the line of an event, from the text of its object. */
export function eventLine<T extends AnyTypes>(spec: Spec<T>, body: string): string {
  switch (spec.framing) {
    case "flat":
      return body;
    case "enveloped":
      return `{"type":"event","event":${body}}`;
    case "json-rpc":
      return `{"jsonrpc":"2.0","method":${JSON.stringify(spec.notification)},"params":${body}}`;
  }
}

/** Returns the line of a question or notice. */
export function dialogLine<T extends AnyTypes>(spec: Spec<T>, id: string, method: string, params: object): string {
  if (spec.dialogFrames === undefined) return stringify({ jsonrpc: "2.0", id, method, params });
  const own = row(spec.dialogs, method)?.frames;
  if (own !== undefined) return stringify({ type: own.request, id, ...params });
  return stringify({ type: spec.dialogFrames.request, id, method, ...params });
}
