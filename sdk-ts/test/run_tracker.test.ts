import assert from "node:assert/strict";
import { test } from "node:test";

import { type Action, type Input, RunTracker } from "../src/run_tracker.js";
import { readText } from "./support/files.js";

interface Case {
  name: string;
  barrier: boolean;
  gap: number;
  state?: boolean;
  answer_ends?: boolean;
  inputs: Input[];
  actions: string[];
}

const barrier = { command: "get_state", busy: "isStreaming", limit: 5000 };

function actionNames(action: Action): string[] {
  if (action === undefined) return [];
  if (action.want === "wake") return [`wake ${action.after}`];
  return [action.want === "end" ? `end by ${action.by}` : action.want];
}

// Test vectors that the clients of all languages share.
for (const one of JSON.parse(readText("conformance", "vectors", "run_tracker.json")) as Case[]) {
  test(one.name, () => {
    const state = one.state ? { state: barrier } : {};
    const tracker = new RunTracker({ gap: one.gap, answerEnds: one.answer_ends ?? false, ...state, ...(one.barrier ? { barrier } : {}) });
    assert.deepEqual(one.inputs.flatMap((input) => actionNames(tracker.feed(input))), one.actions);
  });
}
