import assert from "node:assert/strict";
import { test } from "node:test";

import { PendingCalls } from "../src/correlate.js";

function table(): PendingCalls<number> {
  const table = new PendingCalls<number>();
  table.insert("a", "bash", 1);
  table.insert("b", "compact", 2);
  table.insert("c", "bash", 3);
  return table;
}

test("fm_F37 an id settles its call once", () => {
  const calls = table();
  assert.deepEqual(calls.settle("b"), { id: "b", command: "compact", waiter: 2, attributed: false });
  assert.equal(calls.settle("b"), undefined);
  assert.deepEqual(calls.ids(), ["a", "c"]);
});

test("a failure without id goes to the oldest of its command", () => {
  const calls = table();
  calls.settle("a");
  assert.deepEqual(calls.attribute("bash", "parse"), { id: "c", command: "bash", waiter: 3, attributed: true });
  assert.equal(calls.attribute("fork", "parse"), undefined);
});

test("parse goes to the oldest of all", () => {
  const calls = table();
  assert.equal(calls.attribute("parse", "parse")?.waiter, 1);
  assert.equal(calls.attribute(undefined, "parse")?.waiter, 2);
});

test("calls whose failures carry an id come last", () => {
  const calls = new PendingCalls<number>();
  calls.insert("a", "prompt", 1, true);
  calls.insert("b", "bash", 2);
  assert.equal(calls.attribute("parse", "parse")?.waiter, 2);
  assert.equal(calls.attribute("parse", "parse")?.waiter, 1);
});

test("the late failure of an abandoned call is consumed once", () => {
  const calls = table();
  assert.equal(calls.abandon("a"), 1);
  assert.equal(calls.abandon("a"), undefined);
  assert.deepEqual(calls.ids(), ["b", "c"]);
  assert.equal(calls.attribute("parse", "parse"), undefined);
  assert.equal(calls.attribute("bash", "parse")?.waiter, 3);
  assert.equal(calls.abandon("b"), 2);
  assert.equal(calls.settle("b"), undefined);
  assert.equal(calls.attribute("parse", "parse"), undefined);
  for (let n = 0; n < 1000; n++) {
    calls.insert(`${n}`, "x", n);
    calls.abandon(`${n}`);
  }
  calls.insert("last", "y", 1000);
  let dropped = 0;
  while (calls.attribute("parse", "parse") === undefined) dropped++;
  assert.equal(dropped, 256, "only so many are remembered");
});

test("drain gives all in order", () => {
  const calls = table();
  assert.deepEqual(calls.drain(), [1, 2, 3]);
  assert.equal(calls.settle("a"), undefined);
});
