import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo } from "node:net";
import { type Server, createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { after, before, describe, test } from "node:test";

import { type Browser, type Page, chromium } from "playwright-core";
import { build } from "vite";

import { chromiumPath } from "./support/browser.js";
import { PACKAGE } from "./support/files.js";
import { PATIENCE, soon } from "./support/agent.js";

const EXAMPLE = join(PACKAGE, "examples", "browser");
const output = mkdtempSync(join(tmpdir(), "agentese-browser-"));
after(() => rmSync(output, { recursive: true }));

const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

function serveFolder(folder: string): Promise<Server> {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname);
    const file = join(folder, path === "/" ? "index.html" : path);
    if (!existsSync(file)) return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

test("the example's types fit", () => {
  execFileSync(join(PACKAGE, "node_modules", ".bin", "tsc"), ["-p", join(EXAMPLE, "tsconfig.json")], { stdio: "pipe" });
});

test("Vite builds the example", async () => {
  await build({ root: EXAMPLE, logLevel: "error", build: { outDir: output, emptyOutDir: true } });
  assert.ok(existsSync(join(output, "index.html")));
});

const path = chromiumPath();
const required = process.env["REQUIRE_BROWSER"] === "1";
const skip = path === undefined && !required && "no browser: set CHROMIUM to one, or install chromium";
if (skip) console.log(`skipped: the example in a browser (${skip})`);

describe("the example in a browser", { skip }, () => {
  let browser: Browser;
  let server: Server;
  let page: Page;
  const problems: string[] = [];

  before(async () => {
    assert.ok(path !== undefined, "REQUIRE_BROWSER is set and there is no browser: set CHROMIUM to one");
    server = await serveFolder(output);
    browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox"], timeout: PATIENCE });
    page = await browser.newPage({ viewport: { width: 760, height: 900 } });
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  });

  after(async () => {
    await browser?.close();
    server?.close();
  });

  test("plays the session to its end: text, thinking and tools", async () => {
    const { port } = server.address() as AddressInfo;
    await page.goto(`http://127.0.0.1:${port}/?speed=10`);
    await page.click("#play");
    await soon(page.waitForSelector('#state[data-state="done"], #state[data-state="failed"]'));
    assert.match((await page.textContent("#state")) ?? "", /^done: 3 tool calls, \d+ tokens$/);
    assert.deepEqual(await page.locator(".user").allTextContents(), ["three things"]);
    assert.deepEqual(await page.locator(".thinking").allTextContents(), ["plan"]);
    assert.deepEqual(await page.locator(".text").allTextContents(), ["Three things.", "Done."]);
    assert.deepEqual(await page.locator(".tool code").allTextContents(), [
      'bash {"command":"echo A"}',
      'read {"path":"a.txt"}',
      'bash {"command":"exit 1"}',
    ]);
    assert.equal(await page.locator(".tool.failed").count(), 1);
    assert.equal((await page.locator(".tool pre").allTextContents())[1], "content of a\n");
    const screenshot = process.env["SCREENSHOT"];
    if (screenshot) await page.screenshot({ path: screenshot, fullPage: true });
    assert.deepEqual(problems, []);
  });

  test("plays it again", async () => {
    await page.click("#play");
    await soon(page.waitForSelector('#state[data-state="done"]'));
    assert.equal(await page.locator(".text").count(), 2);
  });
});
