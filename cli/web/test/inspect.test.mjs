// Tests of `agentese inspect` with recordings of the real agents. Each one is loaded and
// stepped through.

import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

  test("is stepped through beside its folded conversation", async () => {
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

  test("may have frames that no agent sends", async () => {
    const folder = mkdtempSync(join(tmpdir(), "agentese-inspect-"));
    const file = join(folder, "hostile.jsonl");
    const deep = `${"[".repeat(20_000)}1${"]".repeat(20_000)}`;
    const names = ["constructor", "__proto__", "hasOwnProperty", "toString"];
    const messageEnd = (text) => JSON.stringify({ type: "message_end", message: { role: "assistant", content: [{ type: "text", text }] } });
    const received = [
      ...names.flatMap((name) => [`{"type":"${name}"}`, `{"type":"response","id":"c","command":"${name}","success":true,"data":{}}`]),
      `{"type":"deep","value":${deep}}`,
      `{"type":"message_update","message":${deep},"assistantMessageEvent":{"partial":${deep}}}`,
      `{"type":"response","id":${deep},"command":"prompt","success":true,"data":${deep}}`,
      `{"type":{"toString":null},"id":{"toString":null},"command":[],"method":{}}`,
      "null", "[]", "5", "no JSON",
      messageEnd(`${">".repeat(2000)}a`),
      messageEnd("The **end**."),
    ];
    const sent = names.map((name) => `{"type":"${name}","id":"c"}`);
    const lines = [
      { transcript: 1, agent: "constructor", title: { toString: null } },
      ...sent.map((line, at) => ({ t: at, dir: "c2s", line })),
      ...received.map((line, at) => ({ t: at === 0 ? "never" : at, dir: "s2c", line })),
      { dir: "s2c", line: 5 },
      { dir: "__proto__", text: "a note" },
    ];
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const { page, complaints, close } = await inspect(browser, file);
    try {
      await page.locator(".message strong", { hasText: "end" }).waitFor();
      await page.locator(".as-text pre", { hasText: ">>>>a" }).waitFor();
      const count = sent.length + received.length + 2;
      await page.getByText(`${count} of ${count}`, { exact: true }).waitFor();
      // Each frame is selected, so that its details are drawn.
      await page.locator(".stepper input").fill("0");
      for (let step = 1; step < count; step++) {
        await page.getByRole("button", { name: "Next" }).click();
        await page.getByText(`${step + 1} of ${count}`, { exact: true }).waitFor();
        await page.locator(".detail pre").waitFor();
      }
      await page.locator(".filters input[type=checkbox]").check();
      await page.getByText(/^\d+ of \d+ frames/).waitFor();
      assert.equal(await page.locator(".banner").count(), 0);
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
