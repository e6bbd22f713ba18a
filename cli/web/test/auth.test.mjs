// Tests of the access to the page, and of its size.

import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { after, before, describe, test } from "node:test";

import { budget, bundle, weight } from "../scripts/build.mjs";
import { Site, openBrowser, openPage, skip } from "./support/page.mjs";

test("the page is within its size budget and contains no build paths", async () => {
  const files = await bundle();
  assert.ok(weight(files) < budget, `${weight(files)} bytes`);
  assert.equal(files["page.js"].includes(process.cwd()), false);
  for (const name of ["preact", "marked", "dompurify", "highlight.js", "ansi_up", "diff", "remend"]) {
    assert.match(files["LICENSES.txt"].toString(), new RegExp(`^${name.replace(".", "\\.")} \\d+\\.\\d+\\.\\d+ \\(`, "m"));
  }
});

describe("the door", () => {
  let site;
  before(async () => {
    site = await Site.start();
  });
  after(() => site?.stop());

  /** Returns the status of the response to a request. */
  const status = (path, headers = {}) =>
    new Promise((resolve, reject) => {
      const { port } = new URL(site.address);
      request({ host: "127.0.0.1", port, path, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });

  test("accepts requests with the token only", async () => {
    const { pathname, host } = new URL(site.address);
    assert.equal(await status(pathname), 200);
    assert.equal(await status(`${pathname}page.js`), 200);
    for (const path of ["/", "/page.js", "/ws", `/${"x".repeat(32)}/`, pathname.slice(0, -2), `${pathname.slice(0, -1)}x/`]) {
      assert.equal(await status(path), 403, path);
    }
    assert.equal(await status(`${pathname}../../etc/passwd`), 404);
    assert.equal(await status(pathname, { host: "evil.example" }), 403);
    assert.equal(await status(`${pathname}ws`, { origin: "http://evil.example" }), 403);
    assert.equal(await status(pathname, { host, origin: `http://${host}` }), 200);
    assert.equal(site.stderr.includes(pathname.slice(1, -1)), false);
  });

  test("refuses a page from another origin", { skip }, async () => {
    const browser = await openBrowser();
    const foreign = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>foreign"));
    await new Promise((resolve) => foreign.listen(0, "127.0.0.1", resolve));
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${foreign.address().port}/`);
      const outcome = await page.evaluate(
        (address) =>
          new Promise((resolve) => {
            const socket = new WebSocket(address);
            socket.onopen = () => resolve("open");
            socket.onerror = () => resolve("refused");
          }),
        `${site.address.replace("http", "ws")}ws`,
      );
      assert.equal(outcome, "refused");
      const read = await page.evaluate((address) => fetch(address).then(() => "read", () => "refused"), site.address);
      assert.equal(read, "refused");
      const own = await openPage(browser, site);
      assert.deepEqual(own.complaints, []);
    } finally {
      foreign.close();
      await browser.close();
    }
  });
});
