// Function for tests that each have their own site and page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Site, openPage } from "./page.mjs";

/**
 * Returns a function that declares tests with a site and a page of their own. The function `browser` is
 * called when a test runs, and returns the browser.
 */
export function withSite(browser) {
  return (name, options, part) =>
    test(name, async () => {
      const site = await Site.start(options);
      let page;
      try {
        page = await openPage(browser(), site);
        await part(page, site);
        assert.deepEqual(page.complaints, []);
      } finally {
        await page?.context().close();
        await site.stop();
      }
    });
}
