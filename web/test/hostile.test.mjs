// The page in front of what nobody should send: it shows what it can, and goes on.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { REPOSITORY, openBrowser, openPage, say, settled, skip } from "./support/page.mjs";
import { inspect } from "./support/inspect.mjs";
import { serious } from "./support/axe.mjs";
import { withSite } from "./support/site_tests.mjs";

const AGENT = join(REPOSITORY, "web/test/support/agent.mjs");

/** A site whose agent plays these turns. */
const plays = (...turns) => ({ files: { "turns.json": JSON.stringify(turns) }, command: [process.execPath, AGENT, "../turns.json"] });

const text = (words) => ({ say: { role: "assistant", content: [{ type: "text", text: words }], stopReason: "stop" } });

/** A call of a tool that is over. */
const call = (name, args, details) => [
  { say: { role: "assistant", content: [{ type: "toolCall", id: "c1", name, arguments: args }], stopReason: "toolUse" } },
  { say: { role: "toolResult", toolCallId: "c1", toolName: name, content: [{ type: "text", text: "ok" }], details, isError: false } },
];

/** Says something, and waits until what comes behind what was said before is drawn. */
async function goesOn(page) {
  await say(page, "again");
  await page.locator(".message.assistant", { hasText: "THE-END" }).waitFor();
  await settled(page);
}

const lines = (count, word) => Array.from({ length: count }, (_, at) => `${word} ${at}`).join("\n");

/** Answers that are more work, or deeper, than they look. */
const HARD = {
  "quotes within quotes": `${">".repeat(2000)}a`,
  "lists within lists": `${"- ".repeat(1500)}x`,
  "numbered lists within lists": `${"1. ".repeat(3000)}x`,
  "quotes and lists within each other": `${"> - ".repeat(1500)}x`,
  "lists that are indented ever more": Array.from({ length: 2000 }, (_, depth) => `${" ".repeat(depth)}- x`).join("\n"),
  "strong text in strong text": `${"__a ".repeat(2000)}b${"__ ".repeat(2000)}`,
  "open stars": `${"**a ".repeat(20_000)}b${"** ".repeat(20_000)}`,
  "stars of both kinds": "*a **b ".repeat(20_000),
  "open brackets": "[".repeat(50_000),
  "pictures in links": `${"[![".repeat(5000)}x${"](a)](b)".repeat(5000)}`,
  "open code": Array.from({ length: 800 }, (_, at) => `${"`".repeat(at + 1)}a`).join(" "),
  "open tags": "<a ".repeat(40_000),
  "open comments": "<!-- ".repeat(40_000),
  "a wide table": `|${"a|".repeat(3000)}\n|${"-|".repeat(3000)}\n${`|${"b|".repeat(3000)}\n`.repeat(20)}`,
  "addresses": "http://a.b/".repeat(20_000),
  "definitions": Array.from({ length: 20_000 }, (_, at) => `[a${at}]: /b`).join("\n"),
  "one long line": "word ".repeat(400_000),
  "many short blocks": "- a\n\n".repeat(50_000),
};

describe("the page in front of hostile frames", { skip, timeout: 300_000, concurrency: 1 }, () => {
  let browser;
  before(async () => {
    browser = await openBrowser();
  });
  after(() => browser?.close());
  const on = withSite(() => browser);

  on("the page of the reference agent shows an answer that is too deep as text, and what follows", {
    responses: [{ text: `${">".repeat(2000)}a` }, { text: "THE-**END**" }],
  }, async (page) => {
    await say(page, "go");
    await page.locator(".message.assistant .as-text pre", { hasText: />{2000}a/ }).waitFor();
    await settled(page);
    await say(page, "again");
    await page.locator(".message.assistant strong", { hasText: "END" }).waitFor();
    await page.reload();
    await page.locator(".message.assistant strong", { hasText: "END" }).waitFor();
    assert.equal(await page.locator(".message").count(), 4);
    assert.deepEqual(await serious(page), []);
  });

  for (const [name, words] of Object.entries(HARD)) {
    on(`${name} are shown, and what follows them`, plays([text(words)]), async (page) => {
      await say(page, "go");
      await settled(page);
      await goesOn(page);
      await page.reload();
      await page.locator(".message.assistant", { hasText: "THE-END" }).waitFor();
      assert.equal(await page.locator(".message").count(), 4);
    });
  }
});
