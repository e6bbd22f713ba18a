// The page of `agentese web` in front of the real pi, in Chromium: a conversation with a tool, a stop, a second tab.
// `page.mjs [COMMAND…]`; without a command it is the pi that interop/package.json names.
import { strict as assert } from "node:assert";

import { openBrowser, openPage, say, settled, skip, Site } from "../web/test/support/page.mjs";
import { startModel } from "./agents/model.mjs";
import { PROFILES } from "./agents/profiles.mjs";

if (skip) {
  console.log(`page: skipped (${skip})`);
  process.exit(0);
}
const profile = PROFILES.pi;
const given = process.argv.slice(2);
const plain = ["--mode", "rpc", "--model", "loopback/one", "--offline"];
const command = given.length > 0 ? [...given, ...plain] : [...profile.command.slice(0, 2), ...plain];
const model = await startModel();
const files = Object.entries(profile.files(model.url));
const home = Object.fromEntries(files.map(([name, content]) => [`home/${name}`, JSON.stringify(content)]));
const site = await Site.start({ command, home });
const browser = await openBrowser();
try {
  const page = await openPage(browser, site);
  // The real pi takes its time to start.
  page.setDefaultTimeout(60_000);
  await page.locator("text=one").first().waitFor({ state: "attached" });
  await say(page, "use a tool");
  await page.locator(".tool.done, .tool.failed").waitFor();
  await page.locator(".tool summary").click();
  await page.locator(".tool .output >> text=echo").or(page.locator(".tool .output >> text=from the tool")).first().waitFor();
  await settled(page);
  await say(page, "Tell me about 1");
  await page.locator(".message.assistant >> text=word 3").waitFor();
  const other = await openPage(browser, site);
  await other.locator(".message.user >> text=Tell me about 1").waitFor();
  await other.getByRole("button", { name: "Stop" }).click();
  await settled(page);
  assert.equal(await page.locator(".message.user").count(), 2);
  assert.deepEqual(page.complaints, []);
  console.log(`page: ${command.slice(0, 2).join(" ").replace(/^.*\/node_modules\//, "")} is talked to in a browser`);
} finally {
  await browser.close();
  await site.stop();
  model.stop();
}
