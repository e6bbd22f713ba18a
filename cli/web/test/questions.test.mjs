// Tests of the text of a question, and of keys that must not answer it by accident.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";

import { openBrowser, sendMessage, settled, skip } from "./support/page.mjs";
import { serious } from "./support/axe.mjs";
import { withSite } from "./support/site_tests.mjs";

/** One character of each kind that is invisible or changes the appearance of others. */
const UNSEEN = ["\u202e", "\u2066", "\u2069", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u0007", "\u001b", "\u0000", "\u3164", "\u{e0041}", "\u2028", "\u061c"];
const number = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** Returns the options of a site whose agent requests approval before it runs each of these commands. */
const promptFor = (...commands) => ({
  home: { "home/.agentese/agent/settings.json": JSON.stringify({ approval: { tools: ["bash"] } }) },
  responses: [
    ...commands.map((command, at) => ({ blocks: [{ tool: { id: `c${at}`, name: "bash", args: { command } } }] })),
    { text: "It is over." },
  ],
});

/** Returns `true` if an element is drawn inside the window. */
const visible = (locator) =>
  locator.evaluate((element) => {
    const box = element.getBoundingClientRect();
    return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
  });

describe("questions", { skip, timeout: 180_000, concurrency: 2 }, () => {
  let browser;
  before(async () => {
    browser = await openBrowser();
  });
  after(() => browser?.close());
  const on = withSite(() => browser);

  on("show characters that nobody sees by their numbers", promptFor(`echo safe # ${UNSEEN.join("x")} ; touch PWN`), async (page, site) => {
    await sendMessage(page, "go");
    const dialog = page.locator(".dialog");
    await dialog.waitFor();
    const drawn = await dialog.innerText();
    for (const character of UNSEEN) {
      assert.ok(drawn.includes(number(character)), number(character));
      assert.ok(!drawn.includes(character), `${number(character)} as it is`);
    }
    await dialog.locator(".decision-warning", { hasText: "invisible characters" }).waitFor();
    const tool = page.locator(".tool");
    for (const part of [".tool-about", ".decision-text"]) {
      const text = await tool.locator(part).innerText();
      assert.deepEqual(UNSEEN.filter((character) => text.includes(character)), [], part);
      assert.match(text, /U\+202E.*touch PWN/, part);
    }
    assert.deepEqual(await serious(page), []);
    await page.getByRole("button", { name: "No", exact: true }).click();
    await page.getByText("It is over.").waitFor();
    await settled(page);
    assert.equal(existsSync(join(site.work, "PWN")), false);
  });

  const titled = { tool: { id: "c", name: "bash", args: { command: "echo hi", title: "Cleans up\u202e" } } };
  on("show the title of a call beside its command", { responses: [{ blocks: [titled] }, { text: "It is over." }] }, async (page) => {
    await sendMessage(page, "go");
    await page.getByText("It is over.").waitFor();
    await page.locator(".tool summary").click();
    assert.match(await page.locator(".tool-title").innerText(), /Cleans up.*U\+202E/);
    assert.deepEqual(await serious(page), []);
  });

  on("leave texts of other languages and emoji as they are", promptFor("echo שלום مرحبا 你好 é 👨‍👩‍👧 ❤️ 1️⃣"), async (page) => {
    await sendMessage(page, "go");
    await page.locator(".dialog", { hasText: "echo שלום مرحبا 你好 é 👨‍👩‍👧 ❤️ 1️⃣" }).waitFor();
    assert.equal(await page.locator(".hidden-character").count(), 0);
  });

  on("are answered by no key that is pressed when they come", promptFor("touch PWN"), async (page, site) => {
    await sendMessage(page, "go");
    await page.locator(".dialog").waitFor();
    for (const key of ["Enter", " ", "y", "Enter"]) await page.keyboard.press(key);
    await page.evaluate(() => new Promise(requestAnimationFrame));
    assert.equal(await page.locator(".dialog").count(), 1);
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "FORM");
    assert.equal(await page.locator(".dialog .primary").count(), 0);
    assert.equal(existsSync(join(site.work, "PWN")), false);
    // Each of the answers can be reached with the keyboard.
    await page.locator(".dialog").focus();
    const reached = [];
    for (let step = 0; step < 6; step++) {
      await page.keyboard.press("Tab");
      reached.push(await page.evaluate(() => document.activeElement?.textContent));
    }
    assert.deepEqual(reached.filter((text) => ["Yes", "No", "Dismiss"].includes(text)), ["Yes", "No", "Dismiss"]);
    await page.getByRole("button", { name: "Yes" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("It is over.").waitFor();
    assert.equal(existsSync(join(site.work, "PWN")), true);
  });

  on("warn of what nobody sees in a text that an extension puts where one writes", { responses: [] }, async (page) => {
    await page.fill(".composer > textarea", "ls\u200b");
    await page.locator(".composer .decision-warning", { hasText: "U+200B" }).waitFor();
    await page.fill(".composer > textarea", "ls 👨‍👩‍👧");
    await page.locator(".composer .decision-warning").waitFor({ state: "detached" });
  });

  const long = Array.from({ length: 300 }, (_, at) => `echo ${at}`).join("\n");
  for (const [name, command, hint] of [
    ["blank lines", `echo safe${"\n".repeat(300)}touch PWN`, /299 blank lines/],
    ["blank lines with spaces", `echo safe${"\n \t".repeat(300)}\ntouch PWN`, /300 blank lines/],
    ["spaces within a line", `echo safe${" ".repeat(3000)}; touch PWN`, /3,000 spaces/],
    ["many lines", `${long}\ntouch PWN`, /\d+ more lines below/],
    ["one long line", `echo ${"a".repeat(20_000)} ; touch PWN`, /\d+ more lines below/],
  ]) {
    on(`tell of what is out of sight: ${name}`, promptFor(command), async (page) => {
      await sendMessage(page, "go");
      const told = page.locator(".dialog :is(.gap, .decision-more b)", { hasText: hint }).first();
      await told.waitFor();
      assert.ok(await visible(told));
      await page.locator(".tool .decision :is(.gap, .decision-more b)", { hasText: hint }).first().waitFor();
      const yes = page.getByRole("button", { name: "Yes" });
      assert.ok(await visible(yes));
      const text = page.locator(".dialog .decision-text");
      if ((await page.locator(".dialog .decision-more b").count()) > 0) {
        await page.locator(".dialog").getByRole("button", { name: "Show more" }).click();
        await text.evaluate((box) => box.scrollTo(0, box.scrollHeight));
        await page.locator(".dialog .decision-more b:empty").waitFor({ state: "attached" });
      }
      assert.match(await text.innerText(), /touch PWN$/);
      assert.ok(await text.evaluate((box) => box.scrollWidth <= box.clientWidth), "nothing lies beside what is seen");
      assert.ok(await visible(yes));
    });
  }
});
