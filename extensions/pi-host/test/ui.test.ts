import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { TestAgent, extension } from "./support/agent.js";

/** Extension with a command that evaluates an expression, and sends the result as JSON in a notice. */
const PROBE = extension(
  `pi.registerCommand("probe", { handler: async (args: string, ctx: any) => {
     const value = await new Function("ctx", "pi", "return (async () => (" + args + "))()")(ctx, pi);
     ctx.ui.notify(JSON.stringify(value) ?? "undefined");
   } });`,
);

async function probe(t: TestContext): Promise<TestAgent> {
  const agent = new TestAgent(t, { "probe.ts": PROBE });
  await agent.initialize("probe.ts");
  return agent;
}

test("dialogs pass on their parameters and return their answers", async (t) => {
  const agent = await probe(t);
  const cases = [
    ["ctx.ui.select('Pick', ['a', 1], { timeout: 299.2 })", { type: "select", title: "Pick", options: ["a", "1"], timeout: 300 }, { value: "a" }, '"a"'],
    ["ctx.ui.confirm('Sure?', 'Really', { timeout: 0 })", { type: "confirm", title: "Sure?", message: "Really" }, { confirmed: true }, "true"],
    ["ctx.ui.input('Name', 'here')", { type: "input", title: "Name", placeholder: "here" }, { value: "" }, '""'],
    ["ctx.ui.input('Name')", { type: "input", title: "Name" }, {}, "undefined"],
    ["ctx.ui.input('Name')", { type: "input", title: "Name" }, { other: 42 }, "42"],
    ["ctx.ui.editor('Edit', 'x')", { type: "editor", title: "Edit", prefill: "x" }, { value: "y\u2028" }, '"y\u2028"'],
    ["ctx.ui.select('Pick', ['a'])", { type: "select", title: "Pick", options: ["a"] }, {}, "undefined"],
    ["ctx.ui.confirm('Sure?', 'Really')", { type: "confirm", title: "Sure?", message: "Really" }, { confirmed: false }, "false"],
  ] as const;
  for (const [expression, asked, result, told] of cases) {
    const during = agent.command("probe.ts", "probe", expression);
    const { id, ...frame } = await agent.next(asked.type);
    assert.deepEqual(frame, { ...asked, extension: agent.path("probe.ts"), during });
    agent.send({ type: "response", id, result });
    assert.equal((await agent.next("notify")).message, told);
    assert.equal((await agent.response(during)).error, undefined);
  }
});

test("two dialogs are open at once, and answered in the other order", async (t) => {
  const agent = await probe(t);
  const command = agent.command("probe.ts", "probe", "Promise.all([ctx.ui.select('1', ['a']), ctx.ui.confirm('2', '')])");
  const first = await agent.next("select");
  const second = await agent.next("confirm");
  agent.send({ type: "response", id: second.id, result: { confirmed: true } });
  agent.send({ type: "response", id: first.id, result: { value: "a" } });
  assert.equal((await agent.next("notify")).message, '["a",true]');
  await agent.response(command);
});

test("a signal withdraws a dialog; an aborted signal opens none", async (t) => {
  const agent = await probe(t);
  const command = agent.command(
    "probe.ts",
    "probe",
    `(async () => { const c = new AbortController(); const asked = ctx.ui.input('x', undefined, { signal: c.signal }); c.abort();
       return [await asked ?? null, await ctx.ui.confirm('never', '', { signal: c.signal })]; })()`,
  );
  const { id } = await agent.next("input");
  assert.equal((await agent.next("withdraw")).question, id);
  agent.send({ type: "response", id, result: {} });
  assert.equal((await agent.next("notify")).message, "[null,false]");
  await agent.response(command);
});

test("a dialog that the agent refuses fails in the extension", async (t) => {
  const agent = await probe(t);
  const command = agent.command("probe.ts", "probe", "ctx.ui.input('x').catch((e) => e.message)");
  const { id } = await agent.next("input");
  agent.send({ type: "response", id, error: "nobody is there" });
  assert.equal((await agent.next("notify")).message, '"nobody is there"');
  await agent.response(command);
});

test("notices are sent as they are made", async (t) => {
  const agent = await probe(t);
  const extension = agent.path("probe.ts");
  const command = agent.command(
    "probe.ts",
    "probe",
    `(() => { const { notify, pasteToEditor } = ctx.ui; notify("a"); notify("b", "error"); ctx.ui.setStatus("k", "s"); ctx.ui.setStatus("k", undefined);
       ctx.ui.setWidget("w", ["l"], { placement: "belowEditor" }); ctx.ui.setWidget("w", undefined); ctx.ui.setWidget("w", () => ({}));
       ctx.ui.setTitle("t"); ctx.ui.setEditorText("e"); pasteToEditor("p"); ctx.ui.setWorkingMessage("m"); })()`,
  );
  const expected = [
    { type: "notify", message: "a" },
    { type: "notify", message: "b", notifyType: "error" },
    { type: "set_status", key: "k", text: "s" },
    { type: "set_status", key: "k" },
    { type: "set_widget", key: "w", lines: ["l"], placement: "belowEditor" },
    { type: "set_widget", key: "w" },
    { type: "set_title", title: "t" },
    { type: "set_editor_text", text: "e" },
    { type: "set_editor_text", text: "p" },
    { type: "notify", message: "undefined" },
  ];
  for (const frame of expected) assert.deepEqual(await agent.line(), { ...frame, extension });
  await agent.response(command);
});

test("methods that need a terminal return the documented values", async (t) => {
  const agent = await probe(t);
  const cases = {
    "ctx.hasUI": true,
    "ctx.ui.getEditorText()": "",
    "[await ctx.ui.custom(() => { throw 1; })]": [null],
    "ctx.ui.getAllThemes()": [],
    "[ctx.ui.getTheme('dark')]": [null],
    "ctx.ui.setTheme('dark').success": false,
    "ctx.ui.getToolsExpanded()": false,
    "ctx.ui.theme.fg('dim', ctx.ui.theme.bold('x'))": "x",
    "typeof ctx.ui.onTerminalInput(() => {})": "function",
    "[ctx.ui.setFooter(1), ctx.ui.setHeader(1), ctx.ui.setEditorComponent(1), ctx.ui.setToolsExpanded(true)]": [null, null, null, null],
  };
  for (const [expression, value] of Object.entries(cases)) {
    const command = agent.command("probe.ts", "probe", expression);
    assert.deepEqual(JSON.parse((await agent.next("notify")).message), value, expression);
    await agent.response(command);
  }
});

test("a dialog that opens after the end of the command belongs to no request", async (t) => {
  const agent = new TestAgent(t, {
    "a.ts": extension(`let go: any; pi.registerCommand("keep", { handler: async (_: string, ctx: any) => { go = () => ctx.ui.input("later"); } });
      pi.registerCommand("go", { handler: async () => { void go(); } });`),
  });
  await agent.initialize("a.ts");
  await agent.response(agent.command("a.ts", "keep"));
  const command = agent.command("a.ts", "go");
  assert.equal("during" in (await agent.next("input")), false);
  await agent.response(command);
});
