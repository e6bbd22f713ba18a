import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { decodeClient, decodeServer, encodeFrame } from "../src/codec.js";
import { omp, operator, pi } from "../src/index.js";
import type { AnyTypes, Spec } from "../src/spec.js";

interface Case {
  readonly revision: string;
  readonly side: "server" | "client";
  readonly frame: Record<string, unknown>;
  readonly refused?: string;
}

const FRAMES = new URL("../../../conformance/vectors/revisions.jsonl", import.meta.url);
const cases = readFileSync(FRAMES, "utf8").trim().split("\n").map((line) => JSON.parse(line) as Case);

const specs: Readonly<Record<string, unknown>> = { pi: pi.spec, omp: omp.spec, operator: operator.spec };

for (const [revision, least] of [["pi@1.5", 50], ["pi@1.6", 10], ["omp@18.2", 50], ["operator@live", 50]] as const) {
  test(`frames of ${revision} are known and come back as they were`, () => {
    const spec = specs[revision.split("@")[0] ?? ""] as Spec<AnyTypes>;
    const own = cases.filter((one) => one.revision === revision && one.refused === undefined);
    assert.ok(own.length > least);
    for (const { side, frame } of own) {
      const decode = side === "server" ? decodeServer<AnyTypes> : decodeClient<AnyTypes>;
      const line = JSON.stringify(frame);
      const decoded = decode(spec, new TextEncoder().encode(line));
      assert.ok(decoded.known, line.slice(0, 200));
      assert.deepEqual(JSON.parse(encodeFrame(decoded.frame)), frame);
    }
  });
}
