// `agentese inspect` on recordings of the real agents: each is loaded, and stepped through.

import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { REPOSITORY, openBrowser, skip } from "./support/page.mjs";
import { inspect } from "./support/inspect.mjs";
import { serious } from "./support/axe.mjs";

const TRANSCRIPTS = join(REPOSITORY, "conformance/transcripts");

describe("a recorded session", { skip, timeout: 180_000 }, () => {
  let browser;
  before(async () => {
    browser = await openBrowser();
  });
  after(() => browser?.close());

  test("is stepped through, with the conversation that it tells", async () => {
    const { page, complaints, close } = await inspect(browser, join(TRANSCRIPTS, "pi/tool-multi.jsonl"));
    try {
      await page.locator(".frame").first().waitFor();
      const all = await page.locator(".message").count();
      assert.ok(all >= 3, `${all} messages`);
      await page.locator(".stepper input").fill("0");
      await page.waitForFunction(() => document.querySelectorAll(".message").length === 0);
      for (let step = 0; step < 8; step++) await page.getByRole("button", { name: "Next" }).click();
      await page.getByText(/^9 of \d+$/).waitFor();
      await page.locator(".filters input[type=search]").fill("turn_end");
      await page.getByText(/^\d+ of \d+ frames/).waitFor();
      assert.deepEqual(await serious(page), []);
      assert.deepEqual(complaints, []);
    } finally {
      await close();
    }
  });

  test("may have any name", async () => {
    const folder = mkdtempSync(join(tmpdir(), "agentese-inspect-"));
    const file = join(folder, "50%.jsonl");
    copyFileSync(join(TRANSCRIPTS, "pi/tool-multi.jsonl"), file);
    const { page, complaints, close } = await inspect(browser, file);
    try {
      await page.locator(".frame").first().waitFor();
      assert.deepEqual(complaints, []);
    } finally {
      await close();
      rmSync(folder, { recursive: true });
    }
  });

  const RECORDED = ["pi/tool-write-read-edit", "omp/abort_and_prompt_tool", "operator/d01_prompt_answered_at_completion", "opal/05_tool_read"];
  for (const name of RECORDED) {
    test(`fits its declaration: ${name}`, async () => {
      const { page, complaints, close } = await inspect(browser, join(TRANSCRIPTS, `${name}.jsonl`));
      try {
        await page.locator(".frame").first().waitFor();
        await page.locator(".filters input[type=checkbox]").check();
        await page.getByText(/^0 of \d+ frames/).waitFor();
        assert.deepEqual(complaints, []);
      } finally {
        await close();
      }
    });
  }
});
