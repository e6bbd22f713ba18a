// Tests of tool calls that the page displays as subagents.

import assert from "node:assert/strict";
import { test } from "node:test";

import { subagentsOf } from "./support/memory.mjs";

test("only the tool that sets subagents to work is drawn as subagents, whatever the details of others look like", () => {
  const details = { results: [{ id: "one", description: "first job", exitCode: 0, output: "done" }] };
  const drawn = (name) => subagentsOf({ type: "tool", callId: "c", name, state: "done", arguments: {}, details });
  assert.deepEqual(drawn("task").map(({ title, state }) => [title, state]), [["first job", "done"]]);
  assert.deepEqual(drawn("deploy"), []);
});
