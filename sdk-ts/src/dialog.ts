/** Lines with answers to questions of the agent, and the declared policy for unanswered questions. */

import type { JsonValue } from "./generated/types.js";
import { stringify } from "./json.js";
import { type AnyTypes, type DialogSpec, type Spec, needsAnswer, row } from "./spec.js";

/** Question for a handler. */
export interface OpenDialog {
  /**
   * Aborted when the agent withdraws the question, when the time limit of the question passes, and when the
   * connection ends (with its `Termination`). A later result of the handler is not sent.
   */
  readonly signal: AbortSignal;
}

/** Returns the line that answers a question. `id` is raw JSON. */
export function answerLine(
  spec: Spec<AnyTypes>,
  id: string,
  method: string,
  members: Readonly<Record<string, unknown>>,
): string {
  const body = stringify(members);
  const type = row(spec.dialogs, method)?.frames?.answer ?? spec.dialogFrames?.answer;
  if (type === undefined) return `{"jsonrpc":"2.0","id":${id},"result":${body}}`;
  const rest = body === "{}" ? "}" : `,${body.slice(1)}`;
  return `{"type":${JSON.stringify(type)},"id":${id}${rest}`;
}

/**
 * Returns the line that the declared policy sends: the fallback answer of the dialog, or of any other dialog
 * if this one is undeclared. If there is no fallback, the line is an error. Returns `undefined` for notices.
 */
export function policyLine(spec: Spec<AnyTypes>, id: string, method: string): string | undefined {
  const declared = row(spec.dialogs, method);
  if (declared !== undefined && !needsAnswer(declared)) return undefined;
  const flat = spec.dialogFrames !== undefined;
  const others = flat && declared === undefined ? Object.values(spec.dialogs).filter((dialog) => !dialog.frames) : [];
  const fallback = declared?.fallback ?? others.find((dialog) => dialog.fallback !== undefined)?.fallback;
  if (fallback !== undefined) return answerLine(spec, id, method, fallback);
  if (flat) return undefined;
  const [code, message] = declared ? [-32000, "No user is available to answer"] : [-32601, "Method not found"];
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"${message}"}}`;
}

/** Returns the mismatch between an answer and its declaration; `undefined` if the answer is valid. */
export function answerMismatch(declared: DialogSpec, members: unknown): string | undefined {
  if (typeof members !== "object" || members === null) return `the answer is ${JSON.stringify(members)}, not an object`;
  for (const [name, type] of Object.entries(declared.answer ?? {})) {
    const value: unknown = (members as Record<string, unknown>)[name];
    if (value === undefined && type.endsWith("?")) continue;
    const kind = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
    const wanted = type.replace("?", "");
    if (kind !== wanted && (wanted !== "any" || value === undefined)) {
      return `\`${name}\` of the answer is ${JSON.stringify(value)}, not of the type ${wanted}`;
    }
  }
  return undefined;
}

/** Returns the parameters of a dialog for its handler, without the envelope. */
export function dialogParams(spec: Spec<AnyTypes>, params: Record<string, JsonValue>): Record<string, JsonValue> {
  if (spec.dialogFrames === undefined) return params;
  const { type: _type, id: _id, method: _method, ...members } = params;
  return members;
}
