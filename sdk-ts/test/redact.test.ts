import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { decodeServer } from "../src/codec.js";
import { Termination, opal, operator, pi } from "../src/index.js";
import { REDACTED, redact, redactText } from "../src/redact.js";
import { RecentFrames } from "../src/termination.js";
import { soon } from "./support/agent.js";
import { connected } from "./support/connected.js";
import { readText } from "./support/files.js";

interface Vector {
  name: string;
  frame?: string;
  text?: string;
  cut?: boolean;
  /**
   * Revision whose codec returns the frame in the same redacted form; absent if the codec is
   * not tested.
   */
  decoded?: string;
  expect: string;
}

describe("redaction, as in all languages", () => {
  for (const { name, frame, text, cut, decoded, expect } of JSON.parse(readText("conformance", "vectors", "redaction.json")) as Vector[]) {
    test(name, () => {
      assert.equal(frame === undefined ? redactText(text ?? "") : redact(frame, cut), expect);
      if (decoded === undefined || frame === undefined) return;
      const read = decodeServer(operator.spec, frame);
      assert.equal(read.raw, expect);
      assert.deepEqual(read.known && read.frame, JSON.parse(expect));
    });
  }
});

test("broken text is no trouble, and long text takes no long", () => {
  for (const text of ["", '"', '{"apiKey":"', '{"apiKey":"x\\', '\\\\"', '{"token"', '"sk-\\u']) redact(text, true);
  assert.ok(redact(`{"text":"${"x".repeat(20_000_000)}"}`).length > 20_000_000);
  assert.ok(redact(`{"text":"${"sk-short ".repeat(200_000)}"}`).length > 1_000_000);
});

test("the last frames of a termination hold no key, not even one that the cut goes through", async () => {
  const key = "sk-ant-0123456789abcdefghijklmnopqrstuvwxyz";
  const { client, agent } = connected(opal.Client);
  await agent.send({ jsonrpc: "2.0", method: "agent/event", params: { type: "status_update", session_id: "s", message: `Bearer ${key}` } });
  await agent.end();
  const { lastFrames } = await soon(client.terminated);
  assert.equal(lastFrames.length, 1);
  assert.ok(lastFrames[0]?.includes(REDACTED) && !lastFrames[0].includes("sk-ant"));
  for (let before = 2000; before < 2060; before++) {
    const frames = new RecentFrames();
    frames.push(`{"text":"${"x".repeat(before)} ${key}"}`);
    assert.doesNotMatch(frames.take().join(), /sk-ant-0/);
  }
});

test("errors quote stderr without keys", () => {
  const exit = { code: 1, signal: null, stderrTail: "no access with ghp_0123456789abcdefghij\n" };
  const end = new Termination("exited", { exit });
  assert.equal(end.message, `the agent exited with code 1, last on stderr: no access with ${REDACTED}`);
  assert.equal(pi.spec.name, "pi");
});
