// Opens reports in a browser: node browser.mjs PLAYWRIGHT CHROMIUM FOLDER
// Screenshots stay in the folder.
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [playwright, executablePath, folder] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(playwright));

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"], timeout: 30_000 });
const watchdog = setTimeout(() => {
  console.error("the browser took too long");
  browser.close().finally(() => process.exit(1));
}, 120_000);

/** Opens a page and records all actions that a report must not perform. */
async function openPage(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  await context.route(/^https?:/, (route) => route.abort());
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const problems = [];
  const address = pathToFileURL(join(folder, name)).href;
  page.on("dialog", (dialog) => (problems.push(`dialog ${dialog.message()}`), dialog.dismiss()));
  page.on("pageerror", (error) => problems.push(`error ${error}`));
  page.on("console", (message) => problems.push(`console ${message.text()}`));
  page.on("request", (request) => {
    if (request.url().replace(/#.*/, "") !== address) problems.push(`request ${request.url()}`);
  });
  await page.goto(address);
  return { page, problems, close: () => context.close() };
}

const names = (page) => page.locator(".case:visible > summary .what strong").allTextContents();

const tests = {
  async "hostile text stays text"() {
    // The page is tested with and without its content security policy, because each of the two
    // protections must suffice.
    for (const bypassCSP of [false, true]) {
      const { page, problems, close } = await openPage("report.html", { bypassCSP });
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
      assert.equal(await page.locator("script").count(), 1);
      assert.equal(await page.locator("img, iframe, object, svg, form, base, b:not(.line b, .bar b)").count(), 0);
      assert.match(await page.locator(".case.fail .frames").first().textContent(), /<\/pre><script>alert\(3\)/);
      assert.deepEqual(problems, []);
      await close();
    }
  },

  async "what would run is noticed"() {
    const { page, problems, close } = await openPage("control.html");
    await page.waitForFunction(() => globalThis.ran);
    assert.ok(problems.some((problem) => problem.startsWith("dialog hello")), problems.join());
    await close();
  },

  async "cases are filtered by verdict and by words"() {
    const { page, problems, close } = await openPage("report.html");
    assert.deepEqual(await names(page), ["bad", "unsure", "known", "none"]);
    await page.locator("label[for=view-fail]").click();
    assert.deepEqual(await names(page), ["bad"]);
    await page.locator("label[for=view-known]").click();
    assert.deepEqual(await names(page), ["known"]);
    await page.locator("label[for=view-all]").click();
    await page.keyboard.press("/");
    await page.keyboard.type("unsu");
    assert.deepEqual(await names(page), ["unsure"]);
    await page.keyboard.type("nothing");
    assert.equal(await page.locator("#nothing").isVisible(), true);
    assert.deepEqual(problems, []);
    await close();
  },

  async "a frame is laid out when it is opened, and a finding leads to it"() {
    const { page, problems, close } = await openPage("report.html");
    await page.locator(".case.fail > summary").click();
    await page.locator(".case.fail .check a").first().click();
    const target = page.locator(".frame:target");
    await target.waitFor();
    assert.equal(await target.evaluate((frame) => frame.open && frame.classList.contains("bad")), true);
    // The finding may point to a line that is not JSON, which is not formatted; then another frame is
    // tested.
    const at = await page.locator(".case.fail .frame").evaluateAll((frames) => {
      const frame = frames.findIndex((frame) => frame.querySelector("pre").textContent.startsWith('{"'));
      frames[frame].open = true;
      return frame;
    });
    await page.waitForFunction(
      (at) => document.querySelectorAll(".case.fail .frame")[at].querySelector("pre").textContent.includes('\n  "'), at,
    );
    assert.deepEqual(problems, []);
    await close();
  },

  async "without script everything can be read"() {
    const { page, close } = await openPage("report.html", { javaScriptEnabled: false });
    assert.equal(await page.locator("#search").isVisible(), false);
    await page.locator("label[for=view-fail]").click();
    await page.locator(".case.fail > summary").click();
    await page.locator(".case.fail .frame > summary").first().click();
    assert.equal(await page.locator(".case.fail .frame pre").first().isVisible(), true);
    await close();
  },

  async "light and dark, wide and narrow"() {
    const paper = (page) => page.evaluate(() => getComputedStyle(document.querySelector(".page")).backgroundColor);
    const light = await openPage("report.html", { colorScheme: "light" });
    const dark = await openPage("report.html", { colorScheme: "dark" });
    assert.notEqual(await paper(light.page), await paper(dark.page));
    const black = await paper(dark.page);
    await light.page.locator("label[for=theme-dark]").click();
    assert.equal(await paper(light.page), black);
    await light.close();
    await dark.page.locator(".case.fail > summary").click();
    await dark.page.screenshot({ path: join(folder, "dark.png") });
    await dark.close();
    const narrow = await openPage("report.html", { viewport: { width: 360, height: 740 } });
    await narrow.page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    assert.equal(await narrow.page.evaluate(() => document.documentElement.scrollWidth), 360);
    await narrow.page.screenshot({ path: join(folder, "narrow.png"), fullPage: true });
    await narrow.close();
  },
};

let failed = 0;
for (const [name, run] of Object.entries(tests)) {
  try {
    await run();
    console.log(`ok: ${name}`);
  } catch (error) {
    failed++;
    console.error(`FAILED: ${name}\n${error?.stack ?? error}`);
  }
}
clearTimeout(watchdog);
await browser.close();
process.exitCode = failed ? 1 : 0;
