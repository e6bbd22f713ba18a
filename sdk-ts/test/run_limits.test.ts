import assert from "node:assert/strict";
import { test } from "node:test";

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
      meter.hear(event["type"] as string, event);
      if (failure === undefined) continue;
      found = { at, code: failure.code ?? "", message: failure.message };
      break;
    }
    assert.deepEqual(found, expect, `${dialect}: ${name}`);
    meter.end();
  }
});
