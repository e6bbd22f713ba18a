import assert from "node:assert/strict";
import { test } from "node:test";

import { Table } from "../src/correlate.js";

function table(): Table<number> {
  const table = new Table<number>();
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

test("drain gives all in order", () => {
  const calls = table();
  assert.deepEqual(calls.drain(), [1, 2, 3]);
  assert.equal(calls.settle("a"), undefined);
});
