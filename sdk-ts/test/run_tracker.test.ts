import assert from "node:assert/strict";
import { test } from "node:test";

import { type Input, RunTracker } from "../src/run_tracker.js";
import type { RunEnd } from "../src/spec.js";

const PI: RunEnd = { barrier: { command: "get_state", busy: "isStreaming", limit: 5000 }, gap: 0, answerEnds: false };
const OMP: RunEnd = { ...PI, gap: 150 };
const OPERATOR: RunEnd = { gap: 0, answerEnds: true };
const OPAL: RunEnd = { gap: 0, answerEnds: false };

function feed(rules: RunEnd, ...inputs: Input[]): string[] {
  const tracker = new RunTracker(rules);
  return inputs
    .map((input) => tracker.feed(input))
    .filter((action) => action !== undefined)
    .map((action) => (action.want === "end" ? `end by ${action.by}` : action.want));
}

test("a plain run ends when the state is idle", () => {
  assert.deepEqual(feed(PI, "answered", "begins", "may_end", "idle"), ["wake", "state", "end by event"]);
});

test("a retry before the state keeps the run", () => {
  const actions = feed(PI, "answered", "begins", "may_end", "holds", "idle", "begins", "may_end", "idle");
  assert.deepEqual(actions, ["wake", "state", "state", "end by event"]);
});

test("a reminder within the gap keeps the run", () => {
  const actions = feed(OMP, "answered", "begins", "may_end", "idle", "holds", "elapsed", "may_end", "idle", "elapsed");
  assert.equal(actions.at(-1), "end by event");
  assert.equal(actions.filter((action) => action.startsWith("end")).length, 1);
});

test("a handled prompt ends without a run", () => {
  // It is looked at twice.
  assert.deepEqual(feed(PI, "answered", "elapsed", "idle", "elapsed", "idle"), ["wake", "state", "wake", "state", "end by handled"]);
});

test("an agent that stays busy after its end is asked again", () => {
  const actions = feed(PI, "answered", "begins", "may_end", "busy", "elapsed", "busy", "elapsed", "idle");
  assert.deepEqual(actions.slice(-5), ["wake", "state", "wake", "state", "end by event"]);
});

test("the end of earlier work is not ours", () => {
  const actions = feed(PI, "may_end", "idle", "answered", "begins", "may_end", "idle");
  assert.equal(actions.at(-1), "end by event");
  assert.equal(actions.filter((action) => action.startsWith("end")).length, 1);
});

test("an answer on completion is the end", () => {
  assert.deepEqual(feed(OPERATOR, "begins", "may_end", "answered"), ["end by answer"]);
});

test("an end without doubt needs no proof", () => {
  assert.deepEqual(feed(OPAL, "ends", "answered", "begins", "ends", "ends"), ["end by event"]);
});
