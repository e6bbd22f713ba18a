import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { failureKind } from "../src/failure.js";
import { omp, opal, operator, pi, pisces } from "../src/index.js";
import { readText } from "./support/files.js";

interface Vector {
  dialect: string;
  command: string | null;
  code?: number;
  message: string;
  kind: string | null;
}

const specs = { pi: pi.spec, omp: omp.spec, pisces: pisces.spec, operator: operator.spec, opal: opal.spec };

describe("documented failures, as in all languages", () => {
  for (const { dialect, command, code, message, kind } of JSON.parse(readText("conformance", "vectors", "failures.json")) as Vector[]) {
    test(`${dialect}: ${message.split("\n")[0]}`, () => {
      const spec = specs[dialect as keyof typeof specs];
      assert.equal(failureKind(spec, command ?? undefined, message, code) ?? null, kind);
    });
  }
});
