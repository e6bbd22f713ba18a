// Opens exported pages in a browser: node browser.mjs PLAYWRIGHT CHROMIUM FOLDER COUNT_OF_HOSTILE_PAGES
// Screenshots stay in the folder.
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [playwright, executablePath, folder, hostilePages] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(playwright));

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 30_000 });
const watchdog = setTimeout(() => {
  console.error("the browser took too long");
  browser.close().finally(() => process.exit(1));
}, 400_000);

const address = (name) => pathToFileURL(join(folder, name)).href;

/** Opens a page and records all forbidden actions of an exported page. */
async function openPage(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  // Requests are recorded below, and never leave the machine.
  await context.route(/^https?:/, (route) => route.abort());
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const problems = [];
  let current;
  page.on("dialog", (dialog) => (problems.push(`dialog ${dialog.message()}`), dialog.dismiss()));
  page.on("pageerror", (error) => problems.push(`error ${error}`));
  page.on("console", (message) => problems.push(`console ${message.text()}`));
  page.on("popup", (popup) => problems.push(`window ${popup.url()}`));
  page.on("request", (request) => {
    const url = request.url().replace(/#.*/, "");
    if (url !== address(current) && !url.startsWith("data:")) problems.push(`request ${url}`);
  });
  if (options.javaScriptEnabled !== false) {
    await page.exposeFunction("pwned", (how) => problems.push(`script ran: ${how}`));
  }
  const visit = (next) => page.goto(address((current = next)));
  await visit(name);
  return { page, problems, visit, close: () => context.close() };
}

const tests = {
  async "what the page shows"() {
    const { page, problems, close } = await openPage("sample.html");
    assert.equal(await page.title(), "Timeouts that survive a suspended laptop");
    assert.equal(await page.textContent("h1"), "Timeouts that survive a suspended laptop");
    assert.equal(await page.locator("#conversation > .entry.user").count(), 3);
    assert.equal(await page.locator("#conversation > details.branch").count(), 2);
    assert.equal(await page.locator("details.call").count(), 9);
    assert.equal(await page.locator("details.call[open], details.thinking[open], details.branch[open]").count(), 0);
    assert.equal(await page.locator("pre .k").count() > 5, true);
    const picture = page.locator(".user img");
    await picture.scrollIntoViewIfNeeded();
    assert.deepEqual(await picture.evaluate(async (img) => (await img.decode(), [img.naturalWidth, img.naturalHeight])), [420, 180]);
    assert.equal(await page.locator("table th.right").evaluate((cell) => getComputedStyle(cell).textAlign), "right");
    assert.deepEqual(problems, []);
    await close();
  },

  async "folds, views, search and links"() {
    const { page, problems, close } = await openPage("sample.html");
    const shown = () => page.locator("nav li:visible").count();
    const all = await page.locator("nav li").count();
    assert.equal(all, 35);
    const usual = await shown();
    await page.locator("label[for=view-user]").click();
    assert.equal(await shown(), 6);
    await page.locator("label[for=view-words]").click();
    assert.equal(await page.locator("nav li.tool:visible").count(), 0);
    await page.locator("label[for=view-labels]").click();
    assert.equal(await shown(), 1);
    await page.locator("label[for=view-all]").click();
    assert.equal(await shown(), all);
    await page.locator("label[for=view-talk]").click();
    assert.equal(await shown(), usual);

    await page.keyboard.press("/");
    await page.keyboard.type("disallowed");
    await page.waitForFunction(() => document.getElementById("found").textContent.startsWith("1 of "));
    assert.equal(await shown(), 1);
    assert.ok((await page.evaluate(() => CSS.highlights.get("found").size)) >= 1);
    await page.keyboard.press("Enter");
    // The entry is in a folded branch, which opens.
    await page.waitForSelector("details.branch[open] .entry:target");
    await page.fill("#search", "");
    await page.waitForFunction(() => document.getElementById("found").textContent === "");
    assert.equal(await shown(), usual);

    await page.click('[data-folds="call"]');
    assert.equal(await page.locator("details.call:not([open])").count(), 0);
    await page.click('[data-folds="call"]');
    assert.equal(await page.locator("details.call[open]").count(), 0);

    const result = await page.locator("details.call .result").first().getAttribute("id");
    await page.goto(`${address("sample.html")}#${result}`);
    await page.waitForSelector("details.call[open] .result:target");
    assert.deepEqual(problems, []);
    await close();
  },

  async "light and dark"() {
    const paper = (page) => page.evaluate(() => getComputedStyle(document.querySelector(".page")).backgroundColor);
    const light = await openPage("sample.html", { colorScheme: "light" });
    const dark = await openPage("sample.html", { colorScheme: "dark" });
    const [white, black] = [await paper(light.page), await paper(dark.page)];
    assert.notEqual(white, black);
    await light.page.locator("label[for=theme-dark]").click();
    assert.equal(await paper(light.page), black);
    await dark.page.locator("label[for=theme-light]").click();
    assert.equal(await paper(dark.page), white);
    await light.close();
    await dark.close();
  },

  async "without script everything can be read"() {
    const { page, problems, close } = await openPage("sample.html", { javaScriptEnabled: false });
    assert.equal(await page.locator("#search").isVisible(), false);
    await page.locator("details.call > summary").first().click();
    assert.equal(await page.locator("details.call .result").first().isVisible(), true);
    await page.locator("label[for=view-user]").click();
    assert.equal(await page.locator("nav li:visible").count(), 6);
    assert.deepEqual(problems, []);
    await close();
  },

  async "a keyboard is enough"() {
    const { page, close } = await openPage("sample.html");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    await page.locator("details.call > summary").first().focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("details.call[open]").count(), 1);
    await page.locator("#view-talk").focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.locator("#view-words").isChecked(), true);
    await close();
  },

  async "360 pixels are enough"() {
    const { page, problems, close } = await openPage("sample.html", { viewport: { width: 360, height: 740 } });
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    assert.equal(await page.locator("nav").isVisible(), false);
    await page.click(".bar .entries");
    assert.equal(await page.locator("nav").isVisible(), true);
    await page.screenshot({ path: join(folder, "narrow-tree.png") });
    await page.locator("nav li.user a").last().click();
    await page.waitForFunction(() => !document.querySelector("nav").matches(":popover-open"));
    assert.deepEqual(problems, []);
    await close();
  },

  async "it prints"() {
    const { page, close } = await openPage("sample.html");
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator("nav").isVisible(), false);
    assert.equal(await page.locator("h1").isVisible(), true);
    await page.pdf({ path: join(folder, "sample.pdf"), format: "A4" });
    await close();
  },

  async "two thousand entries are searched"() {
    const { page, problems, close } = await openPage("many.html");
    await page.fill("#search", "disallowed-types");
    await page.waitForFunction(() => document.getElementById("found").textContent.includes(" of "));
    assert.deepEqual(problems, []);
    await close();
  },

  async "what would run is noticed"() {
    const noticed = await openPage("control.html");
    await noticed.page.waitForFunction(() => globalThis.attributeRan);
    for (const what of ["script ran: script", "script ran: attribute", "request https://h.example/", "dialog hello"]) {
      assert.ok(noticed.problems.some((problem) => problem.startsWith(what)), what);
    }
    await noticed.close();
  },

  async "hostile sessions stay text"() {
    // With the policy and without it, so that each protection is tested on its own.
    for (const bypassCSP of [false, true]) {
      const { page, problems, visit, close } = await openPage("hostile-0.html", { bypassCSP });
      for (let index = 0; index < Number(hostilePages); index++) {
        await visit(`hostile-${index}.html`);
        await page.evaluate(() => {
          for (const details of document.querySelectorAll("details")) details.open = true;
          for (const link of document.querySelectorAll("a")) link.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
        });
        const found = await page.evaluate(() => {
          const elements = [...document.querySelectorAll("*")];
          return {
            scripts: document.querySelectorAll("script").length,
            foreign: elements.filter((e) => e.matches("iframe, object, embed, svg, math, form, base, template")).length,
            handlers: elements.filter((e) => e.getAttributeNames().some((name) => name.startsWith("on") || name === "style")).length,
            links: [...document.querySelectorAll("a")].filter((a) => !/^(#|https?:|mailto:)/.test(a.getAttribute("href"))).length,
            pictures: [...document.images].filter((img) => !img.src.startsWith("data:image/png;base64,")).length,
            says: document.body.textContent.length,
          };
        });
        assert.ok(found.says > 1000);
        delete found.says;
        const where = `hostile-${index}.html${bypassCSP ? " without its policy" : ""}`;
        assert.deepEqual(found, { scripts: 1, foreign: 0, handlers: 0, links: 0, pictures: 0 }, where);
        assert.deepEqual(problems, [], where);
        if (index === 3 && !bypassCSP) await page.screenshot({ path: join(folder, "hostile.png") });
      }
      await close();
    }
  },

  async "screenshots"() {
    for (const colorScheme of ["light", "dark"]) {
      const { page, close } = await openPage("sample.html", { colorScheme });
      await page.screenshot({ path: join(folder, `${colorScheme}.png`) });
      await page.click('[data-folds="call"]');
      await page.click('[data-folds="thinking"]');
      await page.evaluate(() => {
        for (const branch of document.querySelectorAll("details.branch, details.more")) branch.open = true;
        // A screenshot of the whole page does not scroll, so distant parts would not be drawn.
        for (const entry of document.querySelectorAll(".entry")) entry.style.setProperty("content-visibility", "visible");
      });
      await page.screenshot({ path: join(folder, `${colorScheme}-open.png`), fullPage: true });
      await close();
    }
    const { page, close } = await openPage("sample.html", { viewport: { width: 360, height: 740 } });
    await page.screenshot({ path: join(folder, "narrow.png"), fullPage: true });
    await close();
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
