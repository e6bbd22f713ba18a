/** The frames that answer an agent's question, as the tables of the dialect say. */

import type { Spec } from "agentese";
import type { OpenQuestion } from "agentese/ui";

function framed(spec: Spec, id: unknown, members: object): object {
  if (spec.dialogFrames !== undefined) return { type: spec.dialogFrames.answer, id, ...members };
  return { jsonrpc: "2.0", id, result: members };
}

/** What the tables say of the dialog. */
function rowOf(spec: Spec, { method }: OpenQuestion): Spec["dialogs"][string] | undefined {
  return Object.hasOwn(spec.dialogs, method) ? spec.dialogs[method] : undefined;
}

/** Answers with what was chosen, entered or edited. Where a dialect wants a word for yes and no, it is one of the options. */
export function answerFrame(spec: Spec, dialog: OpenQuestion, value: string | boolean): object {
  const row = rowOf(spec, dialog);
  const member = row?.member ?? "value";
  if (typeof value === "string" || spec.dialogFrames !== undefined) return framed(spec, dialog.id, { [member]: value });
  const options = dialog.options ?? [];
  const fallback = row?.fallback?.[member];
  const word = value ? options.find((option) => option !== fallback) : fallback;
  return framed(spec, dialog.id, { [member]: word ?? String(value) });
}

/** Says that there is no answer. */
export function dismissFrame(spec: Spec, dialog: OpenQuestion): object {
  const fallback = rowOf(spec, dialog)?.fallback;
  if (fallback !== undefined) return framed(spec, dialog.id, fallback);
  if (spec.dialogFrames !== undefined) return framed(spec, dialog.id, { cancelled: true });
  return { jsonrpc: "2.0", id: dialog.id, error: { code: -32000, message: "Nobody answered" } };
}
