import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, describe, test } from "node:test";

import { build } from "esbuild";
import { type Browser, chromium } from "playwright-core";

import { PATIENCE, soon } from "./support/agent.js";
import { chromiumPath } from "./support/browser.js";
import { PACKAGE, readText, transcript } from "./support/files.js";

const FOLDER = join(PACKAGE, "examples", "front_ends");
const output = mkdtempSync(join(tmpdir(), "agentese-front-ends-"));
after(() => rmSync(output, { recursive: true }));

/** Start of the page script of each example. A recording replaces the agent. */
const PAGES = {
  "plain.ts": `import { chat } from "./plain.ts"; const client = chat(document.body, ours);`,
  "react.tsx": `import { createRoot } from "react-dom/client"; import { Chat, open } from "./react.tsx"; import { createElement } from "react";
    const { view, client } = open(ours); createRoot(document.body.appendChild(document.createElement("div"))).render(createElement(Chat, { view, client }));`,
};

test("the quick starts for front ends are short and quoted verbatim in the guide", () => {
  const guide = readText("docs", "front-ends.md");
  for (const name of Object.keys(PAGES)) {
    const code = readFileSync(join(FOLDER, name), "utf8");
    assert.ok(code.split("\n").length - 1 < 40, name);
    assert.ok(guide.includes(`\n${code}\`\`\``), `docs/front-ends.md has another ${name}`);
  }
});

test("the types of the quick starts for front ends fit", () => {
  execFileSync(join(PACKAGE, "node_modules", ".bin", "tsc"), ["-p", join(FOLDER, "tsconfig.json")], { stdio: "pipe" });
});

const path = chromiumPath();
const skip = path === undefined && process.env["REQUIRE_BROWSER"] !== "1" && "no browser: set CHROMIUM to one, or install chromium";

describe("quick starts in a browser", { skip }, () => {
  let browser: Browser;
  before(async () => {
    assert.ok(path !== undefined, "REQUIRE_BROWSER is set and there is no browser: set CHROMIUM to one");
    browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox"], timeout: PATIENCE });
  });
  after(() => browser?.close());

  for (const [name, begin] of Object.entries(PAGES)) {
    test(`${name} shows a conversation with tools`, async () => {
      const contents = `import { pi } from "agentese"; import { memoryPair, replay } from "agentese/testing";
        const [ours, theirs] = memoryPair(); void replay(pi.spec, ${JSON.stringify(transcript("pi", "tool-multi"))}, theirs);
        ${begin} await client.getState(); await (await client.prompt({ message: "three things" })).result();`;
      const bundle = join(output, `${name}.js`);
      await build({ stdin: { contents, resolveDir: FOLDER, loader: "ts" }, bundle: true, format: "esm", jsx: "automatic", outfile: bundle, logLevel: "error", define: { "process.env.NODE_ENV": '"production"' } });
      const html = join(output, `${name}.html`);
      writeFileSync(html, `<!doctype html><meta charset="utf-8"><body><script type="module">${readFileSync(bundle, "utf8").replaceAll("</script", "<\\/script")}</script>`);
      const page = await browser.newPage();
      const problems: string[] = [];
      page.on("pageerror", (error) => problems.push(String(error)));
      await page.goto(pathToFileURL(html).href);
      await soon(page.waitForSelector('main[data-run="idle"] article.assistant pre.tool'));
      const tools = await page.locator("pre.tool").allTextContents();
      assert.ok(tools.length > 1 && tools.every((tool) => /: (done|failed)$/.test(tool)), tools.join());
      assert.match((await page.textContent("article.user")) ?? "", /three things/);
      assert.deepEqual(problems, []);
      await page.close();
    });
  }
});
