// Runs `agentese inspect` on a file, and opens it in a browser page.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

import { AGENTESE, PATIENCE } from "./page.mjs";

/** Opens a recording in a browser page. */
export async function inspect(browser, file) {
  const child = spawn(AGENTESE, ["inspect", "--no-open", file], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`agentese inspect ended with ${code}`)));
    createInterface({ input: child.stdout }).once("line", resolve);
  });
  const page = await browser.newPage({ viewport: { width: 1180, height: 820 } });
  page.setDefaultTimeout(PATIENCE);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  await page.goto(address);
  return { page, complaints, close: async () => (await page.close(), child.kill("SIGTERM")) };
}
