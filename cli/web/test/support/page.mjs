// A browser, and a running `agentese web` with the scripted model.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

export const REPOSITORY = join(dirname(fileURLToPath(import.meta.url)), "../../../..");
const target = process.env.CARGO_TARGET_DIR ?? join(REPOSITORY, "target");
/** The binary under test. */
export const AGENTESE = process.env.AGENTESE ?? join(target, "debug", "agentese");

/** Time limit of every wait, in milliseconds. */
export const PATIENCE = 60_000;

/**
 * Returns the path of the browser: the one in `CHROMIUM`, or the first one in `PATH`. Returns `undefined` if
 * there is no browser.
 */
function findChromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? "").split(":");
  const names = ["chromium", "chromium-browser", "google-chrome"];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
}

const path = findChromium();
/** Reason for skipping the tests in a browser; `false` if they run. */
export const skip =
  path === undefined && process.env.REQUIRE_BROWSER !== "1" && "no browser: set CHROMIUM to one, or install chromium";
if (skip) console.log(`skipped: the page in a browser (${skip})`);

/** Starts the browser. */
export async function openBrowser() {
  if (path === undefined) throw new Error("REQUIRE_BROWSER is set and there is no browser: set CHROMIUM to one");
  return chromium.launch({ executablePath: path, args: ["--no-sandbox"], timeout: PATIENCE });
}

/** Server of `agentese web` and its agent, in a temporary folder. */
export class Site {
  /**
   * Starts a site. `responses` are the answers of the model. `files` are written into the folder of the site.
   */
  static async start({ responses = [], dialect = "pi", files = {}, arguments: own = [], web = [], home = {}, session, command } = {}) {
    const folder = mkdtempSync(join(tmpdir(), "agentese-web-"));
    const site = new Site();
    site.folder = folder;
    site.work = join(folder, "work");
    site.sessions = join(folder, "sessions");
    for (const [name, content] of Object.entries({ ...files, "work/.keep": "", "home/.keep": "", ...home })) {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
    const script = join(folder, "script.json");
    writeFileSync(script, JSON.stringify({ responses, default: { text: "Nothing more to say." } }));
    const agent = command ?? [
      AGENTESE, "--mode", "rpc", "--dialect", dialect, "--provider", "scripted", "--script", script, ...own,
      ...(session === undefined ? [] : ["--session", join(folder, session)]),
    ];
    site.process = spawn(AGENTESE, ["web", "--no-open", "--dialect", dialect, ...web, "--", ...agent], {
      cwd: site.work,
      env: { PATH: process.env.PATH, HOME: join(folder, "home") },
      stdio: ["ignore", "pipe", "pipe"],
    });
    site.stderr = "";
    site.process.stderr.on("data", (chunk) => (site.stderr += chunk));
    const lines = createInterface({ input: site.process.stdout });
    site.address = await new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no address came: ${site.stderr}`)), PATIENCE);
      lines.once("line", (line) => (clearTimeout(late), resolve(line)));
      site.process.once("exit", (code) => (clearTimeout(late), reject(new Error(`agentese web ended with ${code}: ${site.stderr}`))));
    });
    return site;
  }

  /** Kills the agent of the page. */
  killAgent() {
    const tasks = readdirSync(`/proc/${this.process.pid}/task`);
    const all = tasks.flatMap((task) => readFileSync(`/proc/${this.process.pid}/task/${task}/children`, "utf8").split(" "));
    for (const id of new Set(all)) if (id.trim() !== "") process.kill(Number(id), "SIGKILL");
  }

  /** Ends the server, and removes its folder. */
  async stop() {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const ended = new Promise((resolve) => this.process.once("exit", resolve));
      this.process.kill("SIGTERM");
      const late = setTimeout(() => this.process.kill("SIGKILL"), PATIENCE);
      await ended;
      clearTimeout(late);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * Opens the page of a site and waits until it is ready. The list `complaints` collects errors of the console
 * and the page.
 */
export async function openPage(browser, site, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 820 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
  await page.goto(site.address);
  await page.waitForSelector(".status-line .dot.on");
  return page;
}

/** Sends a prompt to the agent. */
export async function sendMessage(page, text) {
  await page.fill(".composer > textarea", text);
  await page.press(".composer > textarea", "Enter");
}

/** Waits until the agent is idle. */
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector(".doing") === null);
}

/** Drops the connection of the page, and waits until the page has reconnected. */
export async function loseConnection(page) {
  const next = page.waitForEvent("websocket", { timeout: PATIENCE });
  await page.evaluate(() => globalThis.agenteseLink.drop());
  await next;
  await page.locator(".status-line .dot.on").waitFor();
}

/** A picture of one pixel, a PNG in base64. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Pastes a picture into the input field; `data` is a PNG in base64. */
export async function pastePicture(page, data) {
  await page.evaluate((data) => {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    const carried = new DataTransfer();
    carried.items.add(new File([bytes], "pixel.png", { type: "image/png" }));
    const event = new ClipboardEvent("paste", { clipboardData: carried, bubbles: true, cancelable: true });
    document.querySelector(".composer > textarea").dispatchEvent(event);
  }, data);
  await page.waitForSelector(".attached img");
}
