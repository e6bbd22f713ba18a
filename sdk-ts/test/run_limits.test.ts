import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import type { RunFailedError } from "../src/error.js";
import type { JsonObject } from "../src/generated/types.js";
import { type Limits, RunLimits } from "../src/run_limits.js";
import { readText } from "./support/files.js";

interface Group {
  readonly times: number;
  readonly events: readonly JsonObject[];
}

interface Case {
  readonly dialect: string;
  readonly name: string;
  readonly limits: Limits;
  readonly events: readonly (JsonObject | Group)[];
  readonly expect?: { at: number; code: string; message: string } | null;
  readonly refused?: string;
}

test("the limits of runs are those of the vectors that all languages share", () => {
  const cases = JSON.parse(readText("conformance", "vectors", "run_limits.json")) as readonly Case[];
  assert.ok(cases.length > 10);
  for (const { dialect, name, limits, events, expect, refused } of cases) {
    let failure: RunFailedError | undefined;
    const begin = () => new RunLimits(limits).meter(dialect, (reached) => void (failure = reached));
    if (refused !== undefined) {
      assert.throws(begin, { name: "UsageError", message: refused }, name);
      continue;
    }
    const meter = begin();
    const all = events.flatMap((event) =>
      Array.isArray(event["events"]) ? Array.from({ length: event["times"] as number }, () => event["events"] as JsonObject[]).flat() : [event as JsonObject],
    );
    let found: Case["expect"] = null;
    for (const [at, event] of all.entries()) {
      meter.observe(event["type"] as string, event);
      if (failure === undefined) continue;
      found = { at, code: failure.code ?? "", message: failure.message };
      break;
    }
    assert.deepEqual(found, expect, `${dialect}: ${name}`);
    meter.end();
  }
});

test("the limits of runs keep no arguments and no results, which may be long", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const meter = new RunLimits({ maxEqualCalls: 2 }).meter("pi", () => assert.fail("nothing is reached"));
  const call = (id: string, text: string): void => {
    meter.observe("tool_execution_start", { type: "tool_execution_start", toolCallId: id, toolName: "write", args: { id, text } });
  };
  const long = (number: number): string => `${number} `.repeat(1 << 19);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let number = 0; number < 64; number++) {
    const id = String(number);
    call(id, long(number));
    if (number % 2 === 0) continue;
    const result = { content: [{ type: "text", text: long(number) }] };
    meter.observe("tool_execution_end", { type: "tool_execution_end", toolCallId: id, toolName: "write", isError: false, result });
  }
  collect();
  const kept = process.memoryUsage().heapUsed - before;
  assert.ok(kept < 8 << 20, `${kept} bytes are kept of 64 long calls`);
  meter.end();
});
