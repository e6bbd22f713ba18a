// Tests of the page with the reference agent and the scripted model, in the pi dialect.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { PIXEL, REPOSITORY, Site, openBrowser, openPage, pastePicture, sendMessage, settled, skip } from "./support/page.mjs";
import { withSite } from "./support/site_tests.mjs";

const run = (id, command) => ({ tool: { id, name: "bash", args: { command } } });
describe("the page", { skip, timeout: 180_000, concurrency: 2 }, () => {
  let browser;
  before(async () => {
    browser = await openBrowser();
  });
  after(() => browser?.close());

  const on = withSite(() => browser);

  on("shows a conversation with tools", {
    responses: [
      { blocks: [{ thinking: "I look first." }, { text: "I look." }, run("c1", "printf '\\033[32mgreen\\033[0m'")] },
      { blocks: [{ text: "I write." }, { tool: { id: "c2", name: "write", args: { path: "a.txt", content: "one\ntwo\n" } } }] },
      { blocks: [{ tool: { id: "c3", name: "edit", args: { path: "a.txt", oldText: "two", newText: "three" } } }] },
      { text: "Done: **bold** and\n\n```rust\nfn main() {}\n```" },
    ],
  }, async (page) => {
    await sendMessage(page, "work");
    await page.waitForSelector(".markdown strong");
    await settled(page);
    assert.equal(await page.locator(".message.user .said").textContent(), "work");
    assert.deepEqual(await page.locator(".tool-name").allTextContents(), ["bash", "write", "edit"]);
    await page.locator(".tool summary").first().click();
    assert.equal(await page.locator(".tool .ansi-green-fg").textContent(), "green");
    assert.equal(await page.locator(".tool tr.added code").last().textContent(), "three");
    assert.equal(await page.locator(".code .hljs-keyword").first().textContent(), "fn");
    await page.click("nav >> text=Files");
    assert.equal(await page.locator(".file summary code").textContent(), "a.txt");
    assert.match((await page.locator(".file .counts").first().textContent()) ?? "", /\+3 −1/);
  });

  on("steers, queues what follows, and stops", {
    responses: [
      { blocks: [{ text: "I wait." }, run("c1", "for try in $(seq 300); do [ -e go ] && break; sleep 0.05; done")] },
      { text: "Steered." },
      { text: "Followed." },
      { blocks: [{ text: "On and on." }, run("c2", "sleep 60")] },
    ],
  }, async (page, site) => {
    await sendMessage(page, "begin");
    await page.waitForSelector(".tool.running");
    await page.fill(".composer > textarea", "go left");
    await page.press(".composer > textarea", "Enter");
    await page.fill(".composer > textarea", "then right");
    await page.press(".composer > textarea", "Alt+Enter");
    await page.waitForSelector(".queue");
    await page.locator(".queue >> text=then right").waitFor();
    assert.match((await page.locator(".queue").textContent()) ?? "", /steers go left.*follows then right/s);
    writeFileSync(join(site.work, "go"), "");
    await page.getByText("Followed.").waitFor();
    await settled(page);
    assert.deepEqual(await page.locator(".message.user .said").allTextContents(), ["begin", "go left", "then right"]);
    await sendMessage(page, "again");
    await page.locator(".tool.running").waitFor();
    await page.press(".composer > textarea", "Escape");
    await settled(page);
    assert.equal(await page.locator(".tool.running").count(), 0);
  });

  on("asks what an extension asks, in every tab, and the first answer counts", {
    arguments: ["--trust", "-e", join(REPOSITORY, "extensions/examples/python/dialogs.py")],
    responses: [],
  }, async (page, site) => {
    const other = await openPage(browser, site);
    await page.fill(".composer > textarea", "/dia");
    await page.waitForSelector("#completions [aria-selected=true]");
    await page.press(".composer > textarea", "Tab");
    assert.equal(await page.inputValue(".composer > textarea"), "/dialogs ");
    await page.press(".composer > textarea", "Enter");
    await page.locator(".dialog >> text=green").waitFor();
    assert.match((await page.locator(".countdown").textContent()) ?? "", /^\d+ s left$/);
    const late = await openPage(browser, site);
    await late.locator(".dialog >> text=green").click();
    await other.locator(".dialog >> text=Yes").click();
    await page.locator(".dialog >> text=Yes").waitFor({ state: "detached" });
    await page.fill(".dialog input", "kettle");
    await page.press(".dialog input", "Enter");
    await page.waitForSelector(".dialog textarea");
    assert.equal(await page.inputValue(".dialog textarea"), "line 1\nline 2");
    await page.locator(".dialog >> text=Done").click();
    await page.locator(".toast >> text=That is all.").waitFor();
    assert.equal(await page.inputValue(".composer > textarea"), "line 1\nline 2");
    assert.equal(await other.locator(".dialog").count(), 0);
    await other.context().close();
    await late.context().close();
  });

  on("sends a picture that was pasted", { responses: [{ text: "I see." }] }, async (page) => {
    await pastePicture(page, PIXEL);
    await sendMessage(page, "what is this?");
    await page.getByText("I see.").waitFor();
    const source = await page.locator(".message.user img").getAttribute("src");
    assert.match(source ?? "", /^data:image\/png;base64,/);
  });

  on("forks at a message, whose text comes back", { responses: [{ text: "One." }, { text: "Two." }] }, async (page) => {
    await sendMessage(page, "first");
    await page.getByText("One.").waitFor();
    await settled(page);
    await sendMessage(page, "second");
    await page.getByText("Two.").waitFor();
    await settled(page);
    await page.locator(".message.user >> text=Fork here").last().click();
    await page.waitForFunction(() => document.querySelectorAll(".message.user").length === 1);
    assert.equal(await page.inputValue(".composer > textarea"), "second");
    await page.click("nav >> text=Sessions");
    await page.waitForFunction(() => document.querySelectorAll(".list button").length === 2);
  });

  on("opens a session that was listed, and keeps what was being written", { responses: [{ text: "One." }, { text: "Two." }] }, async (page) => {
    await sendMessage(page, "first");
    await page.getByText("One.").waitFor();
    await settled(page);
    await page.getByRole("button", { name: "New", exact: true }).click();
    await page.waitForFunction(() => document.querySelectorAll(".message").length === 0);
    await sendMessage(page, "second");
    await page.getByText("Two.").waitFor();
    await settled(page);
    await page.fill(".composer > textarea", "not sent yet");
    await page.click("nav >> text=Sessions");
    await page.locator(".list button >> text=first").click();
    await page.getByText("One.").waitFor();
    assert.equal(await page.locator(".message.user").count(), 1);
    await page.waitForFunction(() => document.querySelector(".composer > textarea").value === "");
    await page.reload();
    await page.getByText("One.").waitFor();
    assert.equal(await page.inputValue(".composer > textarea"), "");
    await page.click("nav >> text=Sessions");
    await page.locator(".list button >> text=second").click();
    await page.getByText("Two.").waitFor();
    await page.waitForFunction(() => document.querySelector(".composer > textarea").value === "not sent yet");
  });

  on("keeps what was written before the page knew the session for that session, and for no other one", {
    responses: [{ text: "One." }, { text: "Two." }],
  }, async (page) => {
    // After the response to `new_session`, the page receives no messages until `goOn` is called.
    let held;
    let goOn;
    await page.routeWebSocket(/./, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) => {
        if (held !== undefined) return held.push(message);
        socket.send(message);
        if (String(message).includes('"command":"new_session"')) held = [];
      });
      goOn = () => {
        for (const message of held) socket.send(message);
        held = undefined;
      };
    });
    await page.reload();
    await page.locator(".status-line .dot.on").waitFor();
    await sendMessage(page, "first");
    await page.getByText("One.").waitFor();
    await settled(page);
    await page.getByRole("button", { name: "New", exact: true }).click();
    await page.waitForFunction(() => document.querySelectorAll(".message").length === 0);
    await page.fill(".composer > textarea", "second");
    goOn();
    // The text is stored for its session once the draft without a session has been removed.
    await page.waitForFunction(() => localStorage.getItem("agentese draft ") === null);
    assert.equal(await page.inputValue(".composer > textarea"), "second");
    await page.press(".composer > textarea", "Enter");
    await page.getByText("Two.").waitFor();
    await settled(page);
    await page.reload();
    await page.getByText("Two.").waitFor();
    assert.equal(await page.inputValue(".composer > textarea"), "");
  });

  on("keeps the text that a fork gives back where the fork's session becomes known a picture later, on a busy machine", {
    responses: [{ text: "One." }, { text: "Two." }],
  }, async (page) => {
    // The messages after the response to the fork arrive after the text was painted, but before the effects
    // of that paint.
    let held;
    let goOn;
    await page.routeWebSocket(/./, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) => {
        if (held !== undefined) return held.push(message);
        socket.send(message);
        if (String(message).includes('"command":"fork"')) held = [];
      });
      goOn = () => {
        for (const message of held) socket.send(message);
        held = undefined;
      };
    });
    await page.addInitScript(() => {
      const soon = globalThis.setTimeout;
      globalThis.setTimeout = (run, delay, ...rest) => soon(run, delay === undefined ? 1000 : delay, ...rest);
    });
    await page.reload();
    await page.locator(".status-line .dot.on").waitFor();
    for (const [at, text] of ["first", "second"].entries()) {
      await sendMessage(page, text);
      await page.locator(".message.assistant .markdown").nth(at).waitFor();
      await settled(page);
    }
    await page.locator(".message.user >> text=Fork here").last().click();
    while (held === undefined) await page.evaluate(() => new Promise(requestAnimationFrame));
    for (const _ of [1, 2]) await page.evaluate(() => new Promise(requestAnimationFrame));
    goOn();
    await page.waitForFunction(() => document.querySelectorAll(".message.user").length === 1);
    // After two timers, all effects have run.
    await page.evaluate(() => new Promise((resolve) => globalThis.setTimeout(() => globalThis.setTimeout(resolve))));
    assert.equal(await page.inputValue(".composer > textarea"), "second");
  });

  on("says that it tries again, and that it compacts", {
    home: { "home/.agentese/agent/settings.json": JSON.stringify({ retry: { baseDelayMs: 5000 }, compaction: { keepRecentTokens: 1 } }) },
    responses: [
      { error: { status: 529, type: "overloaded_error", message: "Overloaded" } },
      { text: "At last." },
      { first_ms: 4000, text: "A summary of it all." },
    ],
  }, async (page) => {
    await sendMessage(page, "try");
    // A single query checks both, because the pause may be over before a second one.
    await page.locator(".doing.retrying", { hasText: /Overloaded.*try 1 of \d+/s }).waitFor();
    await page.getByText("At last.").waitFor();
    await settled(page);
    await page.getByRole("button", { name: "Compact", exact: true }).click();
    await page.locator(".doing.compacting").waitFor();
    await page.getByText("The conversation was compacted").waitFor();
    await settled(page);
  });

  on("loses nothing when it is loaded again in the middle of an answer", {
    responses: [{ delay_ms: 40, blocks: [{ text_repeat: { chunk: "word ", n: 60 } }, { text: ["The ", "end."] }] }],
  }, async (page, site) => {
    await sendMessage(page, "talk");
    await page.waitForFunction(() => (document.querySelector(".message.assistant")?.textContent ?? "").split("word").length > 10);
    await page.reload();
    await page.waitForFunction(() => (document.querySelector(".message.assistant")?.textContent ?? "").split("word").length > 10);
    assert.equal(await page.locator(".message.user .said").count(), 1);
    await page.evaluate(() => globalThis.agenteseLink.drop());
    await page.getByText("The end.").waitFor();
    await settled(page);
    const text = await page.locator(".message.assistant .markdown").allTextContents();
    assert.equal(text.join("").split("word").length - 1, 60);
    assert.equal(site.process.exitCode, null);
  });

  on("says that the agent has died, starts it again and opens its session", {
    responses: [{ text: "I live." }],
  }, async (page, site) => {
    await sendMessage(page, "hello");
    await page.getByText("I live.").waitFor();
    await settled(page);
    site.killAgent();
    await page.getByText(/The agent was killed by SIGKILL/).first().waitFor();
    // An agent that ends soon after its start is not restarted automatically, only by a click.
    const again = page.getByText("Restart the agent");
    if (await again.isVisible()) await again.click();
    await page.locator(".banner").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.querySelectorAll(".message").length === 2);
    await sendMessage(page, "again");
    await page.locator(".message.user").nth(1).waitFor();
  });

  on("runs nothing of what is said to it", {
    responses: [{
      text: [
        "<script>pwned()</script><img src=x onerror=pwned()><iframe srcdoc='<script>parent.pwned()</script>'></iframe>",
        "[a](javascript:pwned()) [b](data:text/html,<script>pwned()</script>) ![c](https://h.example/x.png)",
        "<svg onload=pwned()></svg> `<b onmouseover=pwned()>` <a href='vbscript:pwned()'>d</a>",
        "```html\n<script>pwned()</script>\n```",
        "<style>body{display:none}</style><form action=https://h.example><button>go</button></form>",
      ].join("\n\n"),
    }],
  }, async (page) => {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.evaluate(() => (globalThis.pwned = () => (globalThis.wasPwned = true)));
    await sendMessage(page, "<img src=x onerror=pwned()> **not Markdown**");
    await page.locator(".code").waitFor();
    await settled(page);
    assert.equal(await page.locator(".message .said").textContent(), "<img src=x onerror=pwned()> **not Markdown**");
    assert.equal(await page.locator(".message :is(script, img, iframe, svg, style, form)").count(), 0);
    const links = await page.locator(".message a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    assert.deepEqual(links.filter((link) => link !== null && !link.startsWith("https://")), []);
    for (const link of await page.locator(".message a[href^=javascript]").all()) await link.click();
    assert.equal(await page.evaluate(() => globalThis.wasPwned), undefined);
    assert.deepEqual(asked, []);
  });

  test("draws ten thousand messages and scrolls", async () => {
    const lines = [{ type: "session", version: 3, id: "long", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" }];
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
    for (let at = 0; at < 10_000; at++) {
      const said = { timestamp: 1_700_000_000_000 + at, ...(at % 2 === 0
        ? { role: "user", content: `question ${at}` }
        : { role: "assistant", content: [{ type: "text", text: `**answer** ${at}\n\n- one\n- two` }], api: "scripted", provider: "scripted", model: "scripted", usage, stopReason: "stop" }) };
      lines.push({ type: "message", id: `e${at}`, parentId: at === 0 ? null : `e${at - 1}`, timestamp: "2026-01-01T00:00:00.000Z", message: said });
    }
    const site = await Site.start({ files: { "long.jsonl": lines.map((line) => JSON.stringify(line)).join("\n") + "\n" }, session: "long.jsonl" });
    const page = await openPage(browser, site);
    try {
      await page.getByText("answer 9999").waitFor();
      const drawn = await page.locator(".message").count();
      assert.ok(drawn < 400, `${drawn} messages are drawn`);
      // The cost of a scroll step is the number of newly drawn messages. At each step, only a few messages
      // may be drawn.
      const steps = await page.evaluate(async () => {
        const box = document.querySelector(".scroller");
        const steps = [];
        let anew = 0;
        const watching = new MutationObserver((changes) => {
          for (const { addedNodes } of changes)
            for (const node of addedNodes)
              if (node instanceof Element) anew += Number(node.matches(".message")) + node.querySelectorAll(".message").length;
        });
        watching.observe(box, { childList: true, subtree: true });
        for (let step = 0; step < 60; step++) {
          box.scrollTop -= 400;
          await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
          steps.push({ anew, drawn: document.querySelectorAll(".message").length });
          anew = 0;
        }
        watching.disconnect();
        return steps;
      });
      const most = (member) => Math.max(...steps.map((step) => step[member]));
      assert.ok(most("anew") <= 100 && most("drawn") < 400, JSON.stringify(steps));
      const anew = steps.reduce((sum, step) => sum + step.anew, 0);
      assert.ok(anew > 0 && anew < 1000, `${anew} messages are drawn in 60 steps`);
      await page.evaluate(() => (document.querySelector(".scroller").scrollTop = 0));
      await page.getByText("question 0", { exact: true }).waitFor();
      assert.deepEqual(page.complaints, []);
    } finally {
      await page.context().close();
      await site.stop();
    }
  });

  on("lets nothing through with --read-only that changes something", { web: ["--read-only"] }, async (page) => {
    assert.equal(await page.isDisabled(".composer > textarea"), true);
    assert.match((await page.getAttribute(".composer > textarea", "placeholder")) ?? "", /--read-only/);
    await page.click("nav >> text=About");
    await page.getByText("Compaction: agentese web was started with --read-only.").waitFor();
    const refused = await page.evaluate(() => globalThis.agenteseLink.call("prompt", { message: "x" }).catch((error) => error.message));
    assert.match(refused, /--read-only/);
  });

  on("lets no command through that is denied", { web: ["--deny", "bash,fork"], responses: [{ text: "Yes." }] }, async (page) => {
    await sendMessage(page, "!echo no");
    await page.locator(".toast >> text=“bash” is denied").waitFor();
    assert.equal(await page.inputValue(".composer > textarea"), "!echo no");
    await sendMessage(page, "well?");
    await page.getByText("Yes.").waitFor();
    await settled(page);
    assert.equal(await page.locator("text=Fork here").count(), 0);
    const refused = await page.evaluate(() => globalThis.agenteseLink.call("bash", { command: "x" }).catch((error) => error.message));
    assert.match(refused, /--deny bash/);
    await page.click("nav >> text=About");
    await page.getByText(/Shell commands with !: “bash” is denied/).waitFor();
  });

  on("shows the wire, and saves it as a transcript", { responses: [{ text: "Yes." }] }, async (page) => {
    await sendMessage(page, "well?");
    await page.getByText("Yes.").waitFor();
    await settled(page);
    await page.click("nav >> text=Inspector");
    await page.locator(".frame.sent >> text=prompt").click();
    await page.getByText(/Answered by/).waitFor();
    assert.match((await page.locator(".detail").textContent()) ?? "", /events followed/);
    assert.match((await page.locator(".meter summary").textContent()) ?? "", /delta-only would have saved/);
    assert.equal(await page.locator(".frame.wrong").count(), 0);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Save as a transcript")]);
    const { readFileSync } = await import("node:fs");
    const lines = readFileSync(await download.path(), "utf8").trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual([lines[0].transcript, lines[0].agent], [1, "pi"]);
    assert.ok(lines.some(({ dir, line }) => dir === "c2s" && line.includes("well?")));
  });
});
