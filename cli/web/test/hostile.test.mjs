// Tests of the page with an agent that sends invalid frames. The page must display as much as
// possible and continue to work.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";

import { PATIENCE, REPOSITORY, openBrowser, openPage, sendMessage, settled, skip } from "./support/page.mjs";
import { serious } from "./support/axe.mjs";
import { withSite } from "./support/site_tests.mjs";

const AGENT = join(REPOSITORY, "cli/web/test/support/agent.mjs");

/** Returns the options of a site whose agent sends the given frames, turn by turn. */
const plays = (...turns) => ({ files: { "turns.json": JSON.stringify(turns) }, command: [process.execPath, AGENT, "../turns.json"] });

const text = (words) => ({ say: { role: "assistant", content: [{ type: "text", text: words }], stopReason: "stop" } });

/** Returns the frames of a finished tool call. */
const call = (name, args, details) => [
  { say: { role: "assistant", content: [{ type: "toolCall", id: "c1", name, arguments: args }], stopReason: "toolUse" } },
  { say: { role: "toolResult", toolCallId: "c1", toolName: name, content: [{ type: "text", text: "ok" }], details, isError: false } },
];

/** Sends another prompt, and waits until the page shows the text "THE-END" of the last turn. */
async function completesRun(page) {
  await sendMessage(page, "again");
  await page.locator(".message.assistant", { hasText: "THE-END" }).waitFor();
  await settled(page);
}

const lines = (count, word) => Array.from({ length: count }, (_, at) => `${word} ${at}`).join("\n");

/** Answers that take longer to parse, or are nested deeper, than their length suggests. */
const HARD = {
  "quotes within quotes": `${">".repeat(2000)}a`,
  "lists within lists": `${"- ".repeat(1500)}x`,
  "numbered lists within lists": `${"1. ".repeat(3000)}x`,
  "quotes and lists within each other": `${"> - ".repeat(1500)}x`,
  "lists that are indented ever more": Array.from({ length: 2000 }, (_, depth) => `${" ".repeat(depth)}- x`).join("\n"),
  "strong text in strong text": `${"__a ".repeat(2000)}b${"__ ".repeat(2000)}`,
  "open stars": `${"**a ".repeat(20_000)}b${"** ".repeat(20_000)}`,
  "stars of both kinds": "*a **b ".repeat(20_000),
  "open brackets": "[".repeat(50_000),
  "pictures in links": `${"[![".repeat(5000)}x${"](a)](b)".repeat(5000)}`,
  "open code": Array.from({ length: 800 }, (_, at) => `${"`".repeat(at + 1)}a`).join(" "),
  "open tags": "<a ".repeat(40_000),
  "open comments": "<!-- ".repeat(40_000),
  "a wide table": `|${"a|".repeat(3000)}\n|${"-|".repeat(3000)}\n${`|${"b|".repeat(3000)}\n`.repeat(20)}`,
  "addresses": "http://a.b/".repeat(20_000),
  "definitions": Array.from({ length: 20_000 }, (_, at) => `[a${at}]: /b`).join("\n"),
  "one long line": "word ".repeat(400_000),
  "many short blocks": "- a\n\n".repeat(50_000),
  "lists within lists, over two megabytes": Array.from({ length: 40_000 }, (_, at) => `${" ".repeat((at % 25) * 4)}- x`).join("\n"),
  "code of one word": `\`\`\`cpp\n${"a".repeat(49_000)}\n\`\`\``,
  "code of one bracket": `\`\`\`markdown\n${"[".repeat(49_000)}\n\`\`\``,
};

/** Waits up to a minute for a condition that is not visible on the page. */
async function until(holds) {
  const end = Date.now() + PATIENCE;
  while (!holds()) {
    assert.ok(Date.now() < end, "it did not come");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Returns the answers to its questions that the agent has received. */
function readAnswers(site) {
  const file = join(site.folder, "turns.json.answers");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : [];
}

describe("the page in front of hostile frames", { skip, timeout: 300_000, concurrency: 1 }, () => {
  let browser;
  before(async () => {
    browser = await openBrowser();
  });
  after(() => browser?.close());
  const on = withSite(() => browser);

  on("the page of the reference agent shows an answer that is too deep as text, and what follows", {
    responses: [{ text: `${">".repeat(2000)}a` }, { text: "THE-**END**" }],
  }, async (page) => {
    await sendMessage(page, "go");
    await page.locator(".message.assistant .as-text pre", { hasText: />{2000}a/ }).waitFor();
    await settled(page);
    await sendMessage(page, "again");
    await page.locator(".message.assistant strong", { hasText: "END" }).waitFor();
    await page.reload();
    await page.locator(".message.assistant strong", { hasText: "END" }).waitFor();
    assert.equal(await page.locator(".message").count(), 4);
    assert.deepEqual(await serious(page), []);
  });

  for (const [name, words] of Object.entries(HARD)) {
    on(`${name} are shown, and what follows them`, plays([text(words)]), async (page) => {
      await sendMessage(page, "go");
      await settled(page);
      await completesRun(page);
      await page.reload();
      await page.locator(".message.assistant", { hasText: "THE-END" }).waitFor();
      assert.equal(await page.locator(".message").count(), 4);
    });
  }

  on("many hard answers are shown one after the other, and the page answers meanwhile", plays([
    ...Array.from({ length: 12 }, (_, at) => text(`${at} ${HARD["strong text in strong text"]}`)),
    text("The **last**."),
  ]), async (page) => {
    await sendMessage(page, "go");
    await settled(page);
    await completesRun(page);
    await page.reload();
    await page.click("nav >> text=About");
    await page.locator(".panel-about").waitFor();
    await page.locator(".message strong", { hasText: "last" }).waitFor();
    await page.locator(".waits").first().waitFor({ state: "detached" });
    assert.ok((await page.locator(".as-text").count()) >= 8);
  });

  on("a message that cannot be drawn is shown as text, and those around it as ever", plays([
    text("The **first**."),
    { say: { role: "assistant", content: [{ type: "text", text: "The **second**." }, { type: "toolCall", id: "c", name: "n", arguments: { a: 1 } }], usage: { output: 1, cost: { total: 0.125 } }, stopReason: "stop" } },
    text("The **third**."),
  ]), async (page) => {
    // The failure is artificial, because no frame of an agent is known to cause one.
    await page.addInitScript(() => {
      const { toFixed } = Number.prototype;
      Number.prototype.toFixed = function (digits) {
        if (Number(this) === 0.125) throw new TypeError("made up");
        return toFixed.call(this, digits);
      };
    });
    await page.reload();
    await sendMessage(page, "go");
    await page.locator(".as-text pre", { hasText: "The **second**." }).waitFor();
    await page.locator(".as-text pre", { hasText: '"name": "n"' }).waitFor();
    assert.deepEqual(await page.locator(".message strong").allTextContents(), ["first", "third"]);
    // The status line also contains the cost.
    await page.locator(".banner.warning", { hasText: "The status line cannot be shown: made up." }).waitFor();
    await completesRun(page);
    await page.click("nav >> text=Files");
    await page.locator(".panel-files").waitFor();
  });

  const texts = (count, word) => `${lines(count, word)}\n`;
  for (const [name, frames, said] of [
    ["an edit of twenty thousand lines", call("edit", { path: "a.txt", oldText: texts(20_000, "old"), newText: texts(20_000, "new") }), "39,"],
    ["an edit of which each line is another one", call("edit", { path: "a.txt", oldText: texts(3000, "a"), newText: texts(3000, "b") }), "5,"],
    ["a thousand edits in one call", call("edit", { path: "a.txt", edits: [...Array(1000)].map((_, at) => ({ oldText: `${at}\nx`, newText: `${at}\ny` })) }), "more lines"],
    ["a diff of sixty thousand lines", call("edit", { path: "a.txt" }, { diff: lines(60_000, "+1") }), "59,"],
    ["a file of fifty thousand lines", call("write", { path: "a.txt", content: texts(50_000, "line") }), "49,"],
  ]) {
    on(`${name} is drawn in part, with all of it as text, and what follows it`, plays([...frames, text("Changed.")]), async (page) => {
      await sendMessage(page, "go");
      await page.getByText("Changed.").waitFor();
      await settled(page);
      const tool = page.locator(".tool");
      if (!(await tool.locator(".diff").isVisible())) await tool.locator("summary").click();
      await tool.locator(".cut-note", { hasText: said }).waitFor();
      const drawn = await tool.locator(".diff tr").count();
      assert.ok(drawn > 100 && drawn < 1000, `${drawn} lines are drawn`);
      await tool.locator(".cut-note button").click();
      const all = (await tool.locator(".diff-text").textContent()) ?? "";
      assert.ok(all.split("\n").length > 2000, `${all.split("\n").length} lines of text`);
      await completesRun(page);
      await page.click("nav >> text=Files");
      await page.locator(".file .cut-note").waitFor();
      await page.reload();
      await page.locator(".message.assistant", { hasText: "THE-END" }).waitFor();
    });
  }

  const deep = (depth) => `${"[".repeat(depth)}1${"]".repeat(depth)}`;
  /** Names of members that every object inherits. */
  const INHERITED = ["constructor", "__proto__", "hasOwnProperty", "toString", "valueOf"];
  const wrong = [5, true, "abc", [], {}, [5, {}], { toString: null }];
  on("frames with names that every object has, and of wrong shapes, are drawn or left out, and the panels open", plays([
    ...INHERITED.flatMap((name) => [
      `{"type":${JSON.stringify(name)}}`,
      { type: "response", command: name, success: true, data: {} },
      { type: "response", command: name, success: false, error: { message: name } },
      { type: "extension_ui_request", id: `m-${name}`, method: name, title: "x", options: ["a"] },
      { type: "extension_ui_request", id: `s-${name}`, method: "setStatus", statusKey: name, statusText: `status of ${name}` },
      { type: "extension_ui_request", id: `w-${name}`, method: "setWidget", widgetKey: name, widgetLines: ["a line"] },
      { type: "message_end", message: { role: name, content: [{ type: name, text: "x" }] } },
      ...call(name, JSON.parse(`{"__proto__":{"path":"p"},"constructor":{"name":"n"},"path":"a.${name}"}`), { [name]: {} }),
      ...call("task", { description: name }, { results: [{ id: name, exitCode: 0 }], progress: [{ id: name, status: name }] }),
    ]),
    ...wrong.flatMap((value) => [
      { type: value },
      { type: "response", command: value, success: value, data: value, error: value, id: value },
      { type: "message_end", message: value },
      { type: "message_end", message: { role: "assistant", content: value } },
      { type: "message_end", message: { role: "assistant", content: [value, { type: "text", text: value }, { type: "thinking", thinking: value }, { type: "image", data: value, mimeType: value }] } },
      { type: "message_end", message: { role: "assistant", content: [{ type: "toolCall", id: value, name: value, arguments: value }], usage: value, stopReason: value, errorMessage: value, model: value, timestamp: value } },
      { type: "message_end", message: { role: "assistant", content: [], usage: { input: value, output: value, cost: { total: value }, cacheRead: value } } },
      { type: "message_end", message: { role: "bashExecution", command: value, output: value, exitCode: value } },
      ...call("edit", { path: value, edits: [value, null], oldText: value }, { diff: value }),
      ...call("task", { description: value, tasks: value }, { results: value, progress: [value, { id: value }] }),
      { type: "tool_execution_update", toolCallId: "c1", partialResult: { content: value, details: value } },
      { type: "queue_update", steering: value, followUp: value },
      { type: "auto_retry_start", attempt: value, maxAttempts: value, delayMs: value, errorMessage: value },
      { type: "auto_retry_end", success: value, attempt: value, finalError: value },
      { type: "extension_error", extensionPath: value, error: value },
      ...["notify", "setStatus", "setWidget", "setTitle", "set_editor_text"].map((method) => ({
        type: "extension_ui_request", id: `x-${method}`, method, message: value, notifyType: value, statusKey: value, statusText: value,
        widgetKey: value, widgetLines: value, widgetPlacement: value, title: value, text: value,
      })),
    ]),
    `{"type":"deep","value":${deep(20_000)}}`,
    `{"type":"response","id":${deep(20_000)},"command":"prompt","success":true}`,
    `{"type":"message_end","message":{"role":"assistant","content":[{"type":"toolCall","id":"d","name":"deep","arguments":{"a":${deep(20_000)}}}]}}`,
    `{"type":"tool_execution_update","toolCallId":"d","partialResult":{"content":[${deep(20_000)}],"details":${deep(20_000)}}}`,
    text("Alive."),
  ]), async (page) => {
    await sendMessage(page, "go");
    await page.getByText("Alive.").waitFor();
    await settled(page);
    for (const [title, part] of [["Inspector", ".rows .frame"], ["Files", ".panel-files"], ["Sessions", ".panel-sessions input"], ["Forks", ".panel-forks"], ["About", ".panel-about select"]]) {
      await page.click(`nav >> text=${title}`);
      await page.locator(part).first().waitFor();
    }
    assert.equal(await page.locator(".banner.warning").count(), 0);
    await page.getByText("status of __proto__").waitFor();
    await completesRun(page);
    await page.reload();
    await page.locator(".message.assistant", { hasText: "THE-END" }).waitFor();
    await page.getByText("Alive.").waitFor();
  });

  const ask = (members) => ({ ask: { type: "extension_ui_request", ...members } });
  on("questions of wrong shapes can be dismissed, and the next one answered", plays([
    ...wrong.map((value, at) => ask({ id: `q${at}`, method: "select", title: value, options: value, ...(value !== 5 && { timeout: value }) })),
    ...wrong.map((value, at) => ask({ id: `c${at}`, method: "confirm", title: value, message: value })),
    ...wrong.map((value, at) => ask({ id: `i${at}`, method: "editor", title: value, prefill: value })),
    ask({ id: "last", method: "confirm", title: "Go on?", message: "It is safe." }),
  ]), async (page, site) => {
    await sendMessage(page, "go");
    for (const kind of [".dialog", ".dialog", ".dialog textarea"]) {
      for (const _ of wrong) {
        await page.locator(kind).waitFor();
        const known = readAnswers(site).length;
        await page.getByRole("button", { name: "Dismiss" }).click();
        await until(() => readAnswers(site).length > known);
      }
    }
    await page.locator(".dialog h2", { hasText: "Go on?" }).waitFor();
    await page.getByRole("button", { name: "Yes" }).click();
    await settled(page);
    assert.equal(readAnswers(site).at(-1).confirmed, true);
    await page.click("nav >> text=Inspector");
    await page.locator(".rows .frame").first().waitFor();
  });

  on("a page that comes late says how many open questions it is not shown", plays(
    Array.from({ length: 6 }, (_, at) => ({ type: "extension_ui_request", id: `q${at}`, method: "confirm", title: `Question ${at}`, message: "x".repeat(1024 * 1024) })),
  ), async (page) => {
    await sendMessage(page, "go");
    await page.getByText("6 questions are open").waitFor();
    await page.reload();
    await page.getByText("3 questions are open").waitFor();
    await page.getByText("3 more questions were open when this page was loaded").waitFor();
    assert.equal(await page.locator(".dialog").count(), 3);
  });
});
