/** Frames with answers to questions of the agent, built from the tables of the dialect. */

import type { Spec } from "agentese";
import type { OpenQuestion } from "agentese/ui";

function answerWith(spec: Spec, id: unknown, members: object): object {
  if (spec.dialogFrames !== undefined) return { type: spec.dialogFrames.answer, id, ...members };
  return { jsonrpc: "2.0", id, result: members };
}

/** Returns the declaration of a question's dialog. */
function rowOf(spec: Spec, { method }: OpenQuestion): Spec["dialogs"][string] | undefined {
  return Object.hasOwn(spec.dialogs, method) ? spec.dialogs[method] : undefined;
}

/**
 * Returns the frame with the user's answer: a chosen, entered or edited value. In JSON-RPC dialects, yes and
 * no are sent as one of the question's options.
 */
export function answerFrame(spec: Spec, dialog: OpenQuestion, value: string | boolean): object {
  const row = rowOf(spec, dialog);
  const member = row?.member ?? "value";
  if (typeof value === "string" || spec.dialogFrames !== undefined) return answerWith(spec, dialog.id, { [member]: value });
  const options = dialog.options ?? [];
  const fallback = row?.fallback?.[member];
  const word = value ? options.find((option) => option !== fallback) : fallback;
  return answerWith(spec, dialog.id, { [member]: word ?? String(value) });
}

/** Returns the frame that dismisses a question. */
export function dismissFrame(spec: Spec, dialog: OpenQuestion): object {
  const fallback = rowOf(spec, dialog)?.fallback;
  if (fallback !== undefined) return answerWith(spec, dialog.id, fallback);
  if (spec.dialogFrames !== undefined) return answerWith(spec, dialog.id, { cancelled: true });
  return { jsonrpc: "2.0", id: dialog.id, error: { code: -32000, message: "The question was dismissed" } };
}
