// Tests of the page with the reference agent in the other dialects: available controls, and the list of
// unavailable actions.

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";

import { openBrowser, openPage, sendMessage, settled, skip } from "./support/page.mjs";
import { serious } from "./support/axe.mjs";
import { withSite } from "./support/site_tests.mjs";

const run = (id, name, command) => ({ tool: { id, name, args: { command } } });

/**
 * The tested dialects. `shell`: name of the shell tool. `steers`: `true` if a run can be steered. `missing`:
 * the unavailable actions.
 */
const DIALECTS = [
  { dialect: "pi@1.5", shell: "bash", steers: true, missing: [] },
  { dialect: "omp", shell: "bash", steers: true, missing: ["Slash commands", "Session tree"] },
  { dialect: "pisces", shell: "bash", steers: true, missing: ["Slash commands", "Session tree"] },
  { dialect: "operator", shell: "bash", steers: false, missing: ["List of models", "Thinking level", "Naming the session", "Shell commands with !"] },
  { dialect: "opal", shell: "shell", steers: true, missing: ["Naming the session", "Slash commands", "Shell commands with !"] },
];

describe("the page in other dialects", { skip, timeout: 180_000, concurrency: 2 }, () => {
  let browser;
  before(async () => {
    browser = await openBrowser();
  });
  after(() => browser?.close());
  const on = withSite(() => browser);

  for (const { dialect, shell, steers, missing } of DIALECTS) {
    on(`${dialect}: a conversation, a stop, a second tab`, {
      dialect,
      responses: [
        { blocks: [{ text: "I look." }, run("c1", shell, "echo seen")] },
        { text: "It is **there**." },
        { blocks: [{ text: "For long." }, run("c2", shell, "sleep 60")] },
      ],
    }, async (page, site) => {
      await sendMessage(page, "look");
      await page.locator(".markdown strong").waitFor();
      await settled(page);
      assert.deepEqual(await page.locator(".message.user .said").allTextContents(), ["look"]);
      assert.equal(await page.locator(".tool").count(), 1);
      await page.locator(".tool summary").click();
      await page.locator(".tool .output >> text=seen").waitFor();

      await sendMessage(page, "wait");
      await page.locator(".tool.running").waitFor();
      assert.equal(await page.getByRole("button", { name: "Steer" }).count(), steers ? 1 : 0);
      const other = await openPage(browser, site);
      await other.getByText("wait", { exact: true }).waitFor();
      await other.getByRole("button", { name: "Stop" }).click();
      await settled(other);
      await settled(page);
      assert.equal(await page.locator(".tool.running").count(), 0);
      await other.context().close();

      await page.click("nav >> text=About");
      const absent = await page.locator(".absent li b").allTextContents();
      assert.deepEqual(missing.filter((title) => !absent.includes(title)), []);
      assert.deepEqual(await serious(page), []);
    });
  }
});
