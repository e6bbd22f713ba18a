// Tests of the page with recorded sessions of the real agents, which `agentese-conformance replay` plays.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe } from "node:test";

import { serious } from "./support/axe.mjs";
import { AGENTESE, PIXEL, loseConnection, openBrowser, openPage, pastePicture, sendMessage, settled, skip } from "./support/page.mjs";
import { withSite } from "./support/site_tests.mjs";

const PLAYER = join(dirname(AGENTESE), "agentese-conformance");
if (!existsSync(PLAYER)) throw new Error(`${PLAYER} is missing: cargo build -p agentese-conformance`);

/** Returns the options of a site whose agent replays that recording. */
const recorded = (dialect, name) => ({ dialect, command: [PLAYER, "replay", "--dialect", dialect, name] });

/**
 * Reloads the page during an answer, drops the connection, and stops the run. Checks that the text so far
 * appears only once.
 */
async function loadAgain(page, soFar) {
  const isThere = () => page.locator(".message.assistant", { hasText: soFar }).first().waitFor();
  await isThere();
  await page.reload();
  await isThere();
  await loseConnection(page);
  assert.equal(await page.locator(".message.user").count(), 1);
  const isOnce = async () => assert.equal((await page.locator("main").innerText()).split(soFar).length, 2, "it is there once");
  await isOnce();
  await stop(page);
  await settled(page);
  // By now, messages that the server repeated after the reconnection have arrived.
  await isOnce();
}

const stop = (page) => page.getByRole("button", { name: "Stop" }).click();
/** Calls a command; fails if the agent rejects it. */
const call = (page, command, params) =>
  page.evaluate(([command, params]) => globalThis.agenteseLink.call(command, params), [command, params]);

/** Sends the commands that the recording contains at this point, so that the replay continues. */
async function expectRequests(page, ...commands) {
  for (const command of commands) await call(page, command, {});
}

describe("the page in front of recorded sessions", { skip, timeout: 240_000, concurrency: 2 }, () => {
  let browser;
  before(async () => {
    browser = await openBrowser();
  });
  after(() => browser?.close());
  const on = withSite(() => browser);

  on("pi: tools that write, read and edit", recorded("pi", "tool-write-read-edit"), async (page) => {
    await sendMessage(page, "make notes");
    await page.getByText("All done.").waitFor();
    await settled(page);
    assert.deepEqual(await page.locator(".tool-name").allTextContents(), ["write", "read", "edit", "read"]);
    assert.equal(await page.locator(".tool.done").count(), 4);
    assert.equal(await page.locator(".tool tr.removed code").first().textContent(), "beta");
    assert.equal(await page.locator(".tool tr.added code", { hasText: "BETA" }).count(), 1);
    await page.click("nav >> text=Files");
    assert.equal(await page.locator(".file summary code").textContent(), "notes.txt");
    assert.match((await page.locator(".meters, .status-line").last().textContent()) ?? "", /\$0\.0018/);
  });

  on("pi: pictures that were pasted, and another model", recorded("pi", "prompt-images-anthropic"), async (page) => {
    for (const [at, text] of ["What is this?", "And this?"].entries()) {
      await pastePicture(page, PIXEL);
      await sendMessage(page, text);
      await page.locator(".message.assistant .markdown").nth(at).waitFor();
      await settled(page);
      if (at === 0) await call(page, "set_model", { provider: "fake-anthropic", modelId: "fake-haiku" });
    }
    assert.equal(await page.locator(".message.user img").count(), 2);
    assert.match((await page.locator(".message.user img").first().getAttribute("src")) ?? "", /^data:image\/png;base64,/);
  });

  on("pi: a picture that a tool has read", recorded("pi", "tool-read-image"), async (page) => {
    await sendMessage(page, "look");
    await page.getByText("A dot.").waitFor();
    await page.locator(".tool summary").click();
    assert.match((await page.locator(".tool img").getAttribute("src")) ?? "", /^data:image\/png;base64,/);
  });

  on("pi: questions of every kind, in two tabs", recorded("pi", "ext-ui-values"), async (page, site) => {
    const other = await openPage(browser, site);
    const ask = (name) => sendMessage(page, `/${name}`);
    await ask("ask-select");
    await page.locator(".dialog >> text=green").waitFor();
    await other.locator(".dialog >> text=green").click();
    await page.locator(".dialog").waitFor({ state: "detached" });
    for (const answer of ["Yes", "No"]) {
      await ask("ask-confirm");
      await page.locator(".dialog").getByText(answer, { exact: true }).click();
      await other.locator(".dialog").waitFor({ state: "detached" });
    }
    for (const [name, value] of [["ask-input", "Ada"], ["ask-input-bare", ""]]) {
      await ask(name);
      await page.fill(".dialog input", value);
      await page.press(".dialog input", "Enter");
      await page.locator(".dialog").waitFor({ state: "detached" });
    }
    for (const [name, value] of [["ask-editor", "new\ntext"], ["ask-editor-bare", "x"]]) {
      await ask(name);
      await page.fill(".dialog textarea", value);
      await page.locator(".dialog >> text=Done").click();
      await page.locator(".dialog").waitFor({ state: "detached" });
    }
    await page.locator(".toast").last().waitFor();
    await other.context().close();
  });

  on("pi: a stop while a tool runs, after the page was loaded again", recorded("pi", "abort-tool"), async (page) => {
    await sendMessage(page, "go");
    await page.locator(".tool.running").waitFor();
    await page.reload();
    await page.locator(".tool.running").waitFor();
    await loseConnection(page);
    assert.equal(await page.locator(".message.user").count(), 1);
    await stop(page);
    await settled(page);
    assert.equal(await page.locator(".tool.running").count(), 0);
    assert.equal(await page.locator(".tool.failed").count(), 2);
    await expectRequests(page, "get_state", "get_messages");
    await sendMessage(page, "again");
    await page.locator(".message.user").nth(1).waitFor();
    await settled(page);
  });

  on("pi: an answer that is stopped, after the page was loaded again", recorded("pi", "abort-streaming"), async (page) => {
    await sendMessage(page, "go");
    await loadAgain(page, "partial");
    await expectRequests(page, "get_state", "get_last_assistant_text");
    await sendMessage(page, "again");
    await page.locator(".message.user").nth(1).waitFor();
    await settled(page);
  });

  on("pi: a fork at a message, whose text comes back", recorded("pi", "fork"), async (page) => {
    for (const [at, text] of ["first", "second", "third"].entries()) {
      await sendMessage(page, text);
      await page.locator(".message.assistant .markdown").nth(at).waitFor();
      await settled(page);
    }
    await expectRequests(page, "get_fork_messages", "get_state");
    await page.locator(".message.user >> text=Fork here").last().click();
    await page.waitForFunction(() => document.querySelectorAll(".message.user").length === 2);
    await page.waitForFunction(() => document.querySelector(".composer > textarea").value === "third");
    await sendMessage(page, "third bis");
    await page.locator(".message.assistant .markdown").nth(2).waitFor();
    assert.deepEqual(await page.locator(".message.user .said").allTextContents(), ["first", "second", "third bis"]);
  });

  on("omp: a tool that prints while it runs", recorded("omp", "prompt_tool_bash"), async (page) => {
    await sendMessage(page, "run it");
    await page.getByText("It printed three lines.").waitFor();
    await settled(page);
    await page.locator(".tool.done summary").click();
    assert.match((await page.locator(".tool .output").textContent()) ?? "", /line 1\s+line 2\s+line 3/);
  });

  on("omp: questions of every kind", recorded("omp", "ext_dialogs"), async (page) => {
    await sendMessage(page, "/dialogs");
    await page.locator(".dialog >> text=beta").click();
    await page.locator(".dialog >> text=Yes").click();
    await page.fill(".dialog input", "Ann");
    await page.press(".dialog input", "Enter");
    await page.fill(".dialog textarea", "edited text");
    await page.locator(".dialog >> text=Done").click();
    await page.locator(".toast >> text=edited text").waitFor();
    assert.equal(await page.locator(".dialog").count(), 0);
  });

  on("omp: an answer that is stopped, after the page was loaded again", recorded("omp", "abort_streaming"), async (page) => {
    await sendMessage(page, "slow");
    await loadAgain(page, "one two three four");
    await expectRequests(page, "get_state", "get_messages");
    await sendMessage(page, "second");
    await page.locator(".message.user").nth(1).waitFor();
    await settled(page);
  });

  on("omp: words that steer an answer", recorded("omp", "streaming_prompt_steer"), async (page) => {
    await sendMessage(page, "slow");
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await page.locator(".message.assistant .markdown").waitFor();
    await sendMessage(page, "second");
    await expectRequests(page, "get_state");
    await page.locator(".message.user").nth(1).waitFor();
    await settled(page);
    assert.deepEqual(await page.locator(".message.user .said").allTextContents(), ["slow", "second"]);
    assert.equal(await page.locator(".queue").count(), 0);
  });

  on("omp: a branch at a message, whose text comes back", recorded("omp", "branch"), async (page) => {
    for (const [at, text] of ["hello", "hello again"].entries()) {
      await sendMessage(page, text);
      await page.locator(".message.assistant .markdown").nth(at).waitFor();
      await settled(page);
    }
    await expectRequests(page, "get_branch_messages", "get_state");
    await page.locator(".message.user >> text=Fork here").last().click();
    await page.waitForFunction(() => document.querySelectorAll(".message.user").length === 1);
    await page.waitForFunction(() => document.querySelector(".composer > textarea").value === "hello again");
  });

  on("operator: an answer", recorded("operator", "d01_prompt_answered_at_completion"), async (page) => {
    await sendMessage(page, "explain this file");
    await page.locator(".message.assistant >> text=Hello").waitFor();
    await settled(page);
  });

  on("opal: a tool that reads", recorded("opal", "05_tool_read"), async (page) => {
    await sendMessage(page, "Read notes.txt");
    await page.getByText("It has three lines.").waitFor();
    await settled(page);
    await page.locator(".tool.done summary").click();
    await page.locator(".tool .output").first().waitFor();
  });

  on("opal: a question that is answered", recorded("opal", "12_ask_user"), async (page) => {
    await sendMessage(page, "Ask");
    await page.locator(".dialog >> text=blue").click();
    await page.locator(".dialog input").waitFor();
    await page.fill(".dialog input", "plain");
    await page.press(".dialog input", "Enter");
    await page.locator(".dialog >> text=Dismiss").click();
    await settled(page);
    assert.equal(await page.locator(".dialog").count(), 0);
  });

  on("opal: an answer that is stopped, after the page was loaded again", recorded("opal", "10_abort"), async (page) => {
    await sendMessage(page, "Long");
    await loadAgain(page, "a b");
  });

  on("omp: two subagents, what they were told and what came of them", recorded("omp", "task_tool"), async (page) => {
    await sendMessage(page, "delegate");
    await page.getByText("Both are done.").waitFor();
    await settled(page);
    assert.equal(await page.locator(".tool-about").textContent(), "first job, second job");
    await page.locator(".tool summary").click();
    assert.deepEqual(await page.locator(".agent.done .agent-title").allTextContents(), ["first job", "second job"]);
    assert.deepEqual(await page.locator(".agent pre").allTextContents(), ["result of one", "result of two"]);
    assert.match((await page.locator(".agent-facts").first().textContent()) ?? "", /129 tokens/);
    assert.deepEqual(await serious(page), []);
  });

  on("pisces: a subagent whose work was verified twice", recorded("pisces", "verify_retry_once_pass"), async (page) => {
    await sendMessage(page, "delegate");
    await page.getByText("Delegation is over.").waitFor();
    await settled(page);
    await page.locator(".tool summary").click();
    assert.match((await page.locator(".agent.done .agent-facts").textContent()) ?? "", /verification: retried passed/);
  });

  on("opal: the conversation of a subagent", recorded("opal", "26_sub_agent"), async (page) => {
    await sendMessage(page, "Delegate");
    await page.getByText("The child counted 3.").waitFor();
    await settled(page);
    await page.locator(".tool summary").click();
    assert.deepEqual(await page.locator(".child .markdown").allInnerTexts().then((all) => all.map((text) => text.trim())), ["child says 3", "It has 3 lines."]);
    await page.locator(".child .tool.done summary").click();
    await page.locator(".child .tool .output").waitFor();
    assert.deepEqual(await serious(page), []);
  });
});
