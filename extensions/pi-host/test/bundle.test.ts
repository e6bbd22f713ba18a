import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { spawnSync } from "node:child_process";

import { bundle, repository } from "./support/agent.js";

test("the bundle is within its budget and contains no keys or paths", () => {
  const text = readFileSync(bundle, "utf8");
  assert.ok(Buffer.byteLength(text) < 2_200_000, `${Buffer.byteLength(text)} bytes`);
  assert.equal(text.includes(repository), false);
});

test("every package that is in the bundle has its notice", () => {
  const notices = readFileSync(bundle.replace(/mjs$/, "LICENSES.txt"), "utf8");
  for (const name of ["jiti", "@sinclair/typebox", "yaml", "string-width", "slice-ansi", "wrap-ansi"]) {
    assert.match(notices, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, "m"));
  }
});

test("the lock file names no registry", () => {
  const lock = readFileSync(join(repository, "extensions/pi-host/package-lock.json"), "utf8");
  assert.equal(/https?:\/\/[^"]*\.tgz/.test(lock), false);
});

test("without an agent the program exits without output", { skip: process.platform !== "linux" }, () => {
  const { status, stderr } = spawnSync(process.execPath, [bundle], { input: "", encoding: "utf8" });
  assert.equal(status, 0);
  assert.equal(stderr, "");
});
