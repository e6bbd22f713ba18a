// Tests the page of `agentese web` with the real pi and omp, in Chromium: a conversation with a tool, a
// second tab, a reload during an answer, an abort. `page.mjs [REVISION…]`, such as `pi@1.5`; all revisions
// by default.
import { strict as assert } from "node:assert";

import { openBrowser, openPage, say, settled, skip, Site } from "../../cli/web/test/support/page.mjs";
import { startModel } from "./agents/model.mjs";
import { PROFILES } from "./agents/profiles.mjs";
import { REAL } from "./agents/real.mjs";

if (skip) {
  console.log(`page: skipped (${skip})`);
  process.exit(0);
}

/** Expected result of the model's tool call: the command has run. */
const SHELL = { state: "done", output: "from the tool" };
/**
 * Expected result in exceptional cases. omp 18.2 does not offer its shell at first, so the model calls the
 * first available tool.
 */
const TOOL = { "omp@18.2": { state: "failed", output: "Path 'looking' not found" } };

async function talk(browser, revision) {
  const model = await startModel();
  const [dialect] = revision.split("@");
  const files = Object.entries(PROFILES[dialect].files(model.url));
  const home = Object.fromEntries(files.map(([name, content]) => [`home/${name}`, typeof content === "string" ? content : JSON.stringify(content)]));
  // The dialect is named without a revision, which the page detects.
  const site = await Site.start({ dialect, command: REAL[revision](), home });
  try {
    const page = await openPage(browser, site);
    // The real agents start slowly.
    page.setDefaultTimeout(60_000);
    await page.locator("text=one").first().waitFor({ state: "attached" });
    // omp 18.2 adds a text after the first prompt.
    await say(page, "hello");
    await page.locator(".message.assistant .markdown").waitFor();
    await settled(page);
    await say(page, "use a tool");
    const { state, output } = TOOL[revision] ?? SHELL;
    const tool = page.locator(`details.tool.${state}`);
    await tool.waitFor();
    // A failed tool is unfolded by default, any other tool by a click.
    if ((await tool.getAttribute("open")) === null) await tool.locator("summary").click();
    await tool.locator(".output").first().waitFor();
    assert.equal((await tool.locator(".output").allInnerTexts()).join("").trim(), output);
    await settled(page);
    await page.locator(".message.assistant", { hasText: `The tool said: ${output}` }).waitFor();
    await say(page, "Tell me about 1");
    await page.locator(".message.assistant >> text=word 3").waitFor();
    const other = await openPage(browser, site);
    other.setDefaultTimeout(60_000);
    await other.locator(".message.user >> text=Tell me about 1").waitFor();
    await page.reload();
    await page.locator(".message.assistant >> text=word 3").waitFor();
    await other.getByRole("button", { name: "Stop" }).click();
    await settled(page);
    assert.equal(await page.locator(".message.user").count(), 3);
    for (const one of [page, other]) {
      await settled(one);
      assert.equal(await one.locator(".message.assistant", { hasText: "word 3" }).count(), 1, "the answer is there once");
      assert.equal((await one.locator("main").innerText()).split(/word 3(?!\d)/).length, 2, "and so is each word of it");
    }
    assert.deepEqual([...page.complaints, ...other.complaints], []);
    console.log(`page: the real ${revision} is talked to in a browser`);
  } finally {
    await site.stop();
    model.stop();
  }
}

const asked = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(REAL);
for (const revision of asked) assert.ok(revision in REAL, `no real agent speaks ${revision}; known: ${Object.keys(REAL).join(", ")}`);
const browser = await openBrowser();
try {
  for (const revision of asked) await talk(browser, revision);
} finally {
  await browser.close();
}
