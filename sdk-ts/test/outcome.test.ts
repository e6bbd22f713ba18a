import assert from "node:assert/strict";
import { test } from "node:test";

import * as agentese from "../src/index.js";
import { type OutcomeRule, OutcomeTracker } from "../src/outcome.js";
import type { JsonObject } from "../src/generated/types.js";
import { readText } from "./support/files.js";

interface Case {
  dialect: "pi" | "omp" | "pisces" | "operator" | "opal";
  name: string;
  events: (JsonObject | "stopped")[];
  expect: "done" | "aborted" | { message: string; code: string | null; retryable: boolean };
}

// Test vectors for outcomes that are shared by the clients of all languages.
for (const one of JSON.parse(readText("conformance", "vectors", "outcomes.json")) as Case[]) {
  test(`${one.dialect}: ${one.name}`, () => {
    const events = agentese[one.dialect].spec.events as Record<string, { outcome?: readonly OutcomeRule[] }>;
    const standing = new OutcomeTracker();
    for (const event of one.events) {
      if (event === "stopped") standing.abortAcknowledged();
      else standing.observe(events[String(event["type"])]?.outcome ?? [], event);
    }
    const verdict = standing.outcome();
    const told =
      typeof verdict === "string"
        ? verdict
        : { message: verdict.message, code: verdict.code ?? null, retryable: verdict.isRetryable };
    assert.deepEqual(told, one.expect);
  });
}
