import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";

import type { HookEvent, Model } from "../src/protocol.js";
import { TestAgent, extension } from "./support/agent.js";

const CALL: HookEvent = { type: "tool_call", toolCallId: "c1", toolName: "bash", input: { command: "rm -rf /" } };
const RESULT: HookEvent = {
  type: "tool_result", toolCallId: "c1", toolName: "bash", input: {}, content: [{ type: "text", text: "old" }],
  details: { a: 1 }, isError: false,
};

async function startAgent(t: TestContext, body: string, head = ""): Promise<TestAgent> {
  const agent = new TestAgent(t, { "a.ts": extension(body, head) });
  const { extensions } = await agent.initialize("a.ts");
  assert.equal(extensions[0]?.error, undefined);
  return agent;
}

/**
 * Returns the combined answer of the handlers in `body` to an event. The caller checks the
 * reported failures.
 */
async function answer(t: TestContext, body: string, event: HookEvent): Promise<unknown> {
  return (await (await startAgent(t, body)).event("a.ts", event)).result;
}

test("the first handler that blocks a tool decides", async (t) => {
  const body = `pi.on("tool_call", (e: any) => isToolCallEventType("read", e) ? { block: true } : undefined);
    pi.on("tool_call", async (e: any) => ({ block: true, reason: "not " + e.input.command }));
    pi.on("tool_call", () => ({ block: false, reason: "never asked" }));`;
  const agent = await startAgent(t, body, `import { isToolCallEventType } from "@mariozechner/pi-coding-agent";`);
  assert.deepEqual((await agent.event("a.ts", CALL)).result, { block: true, reason: "not rm -rf /" });
});

test("a handler of a tool call that throws is the error of the response", async (t) => {
  const agent = await startAgent(t, `pi.on("tool_call", () => { throw new Error("cannot say"); });`);
  const response = await agent.event("a.ts", CALL);
  assert.equal(response.error, "cannot say");
  assert.equal("result" in response, false);
});

test("a handler that throws is reported, and the others run", async (t) => {
  const agent = await startAgent(
    t,
    `pi.on("input", () => { throw "words"; }); pi.on("input", () => ({ action: "transform", text: "new" }));
     pi.on("turn_end", async () => { throw new Error("late"); });`,
  );
  const extension = agent.path("a.ts");
  const id = agent.sendRequest({ type: "event", extension, event: { type: "input", text: "old", source: "rpc" } });
  assert.deepEqual(await agent.next("failed"), { type: "failed", extension, event: "input", error: "words" });
  assert.deepEqual((await agent.response(id)).result, { action: "transform", text: "new" });
  agent.sendEvent("a.ts", { type: "turn_end", turnIndex: 0, message: { role: "user", content: "x", timestamp: 1 }, toolResults: [] });
  assert.deepEqual(await agent.next("failed"), { type: "failed", extension, event: "turn_end", error: "late" });
});

test("a prompt is rejected if the extension that decides about keys fails", async (t) => {
  const agent = await startAgent(
    t,
    `pi.on("session_start", (_: unknown, ctx: any) => {
       const old = ctx.modelRegistry.getApiKey;
       ctx.modelRegistry.getApiKey = (model: any) => { if (model.id === "wrapped") return old(model); throw new Error("no keyring"); };
     });`,
  );
  const ask = async (id: string): Promise<unknown> => {
    agent.send({ type: "state", state: { model: { id, provider: "p" } as unknown as Model } });
    return (await agent.event("a.ts", { type: "input", text: "hello", source: "rpc" })).result;
  };
  agent.sendEvent("a.ts", { type: "session_start" });
  await agent.next("register");
  assert.deepEqual(await ask("m"), { action: "refuse", text: "no keyring" });
  const text = "agentese-pi-host does not support ctx.modelRegistry.getApiKey(): keys do not leave the agent";
  assert.deepEqual(await ask("wrapped"), { action: "refuse", text });
});

test("the answers of handlers are combined, even if one fails", async (t) => {
  const agent = await startAgent(
    t,
    `pi.on("resources_discover", (e: any) => ({ skillPaths: [e.cwd + "/" + e.reason] }));
     pi.on("resources_discover", () => { throw new Error("lost"); });
     pi.on("resources_discover", async () => ({ skillPaths: ["b"], promptPaths: ["c"], themePaths: ["d"] }));`,
  );
  const event: HookEvent = { type: "resources_discover", cwd: "/w", reason: "startup" };
  const id = agent.sendRequest({ type: "event", extension: agent.path("a.ts"), event });
  assert.equal((await agent.next("failed")).error, "lost");
  const { result } = await agent.response(id);
  assert.deepEqual(result, { skillPaths: ["/w/startup", "b"], promptPaths: ["c"], themePaths: ["d"] });
});

test("input of the user is transformed in a chain", async (t) => {
  const event: HookEvent = { type: "input", text: "a", source: "rpc", images: [] };
  const add = (text: string): string => `pi.on("input", (e: any) => ({ action: "transform", text: e.text + "${text}" }));`;
  assert.deepEqual(await answer(t, add("b") + add("c"), event), { action: "transform", text: "abc", images: [] });
  assert.deepEqual(await answer(t, `${add("b")} pi.on("input", () => ({ action: "handled" })); ${add("c")}`, event), { action: "handled" });
  assert.equal(await answer(t, `pi.on("input", () => ({ action: "continue" }));`, event), undefined);
});

test("results of tools are changed in a chain", async (t) => {
  const body = `pi.on("tool_result", (e: any) => ({ content: [{ type: "text", text: e.content[0].text + "er" }] }));
    pi.on("tool_result", () => undefined);
    pi.on("tool_result", (e: any) => ({ isError: true, details: { was: e.details, text: e.content[0].text } }));`;
  assert.deepEqual(await answer(t, body, RESULT), {
    content: [{ type: "text", text: "older" }],
    isError: true,
    details: { was: { a: 1 }, text: "older" },
  });
  assert.equal(await answer(t, `pi.on("tool_result", () => {});`, RESULT), undefined);
});

test("the context of the model is replaced or changed in place", async (t) => {
  const event: HookEvent = { type: "context", messages: [{ role: "user", content: "x", timestamp: 1 }] };
  const replaced = `pi.on("context", () => ({ messages: [] })); pi.on("context", (e: any) => { e.messages.push({ role: "user", content: "y", timestamp: 2 }); });`;
  assert.deepEqual(await answer(t, replaced, event), { messages: [{ role: "user", content: "y", timestamp: 2 }] });
  assert.equal(await answer(t, `pi.on("context", () => {});`, event), undefined);
});

test("a run gets a message and another system prompt", async (t) => {
  const event: HookEvent = { type: "before_agent_start", prompt: "p", systemPrompt: "s" };
  const body = `pi.on("before_agent_start", (e: any) => ({ systemPrompt: e.systemPrompt + "1", message: { customType: "n", content: "c", display: false } }));
    pi.on("before_agent_start", (e: any) => ({ systemPrompt: e.systemPrompt + "2" }));`;
  assert.deepEqual(await answer(t, body, event), {
    systemPrompt: "s12",
    message: { customType: "n", content: "c", display: false },
  });
});

test("a second message of one extension before a run is an error", async (t) => {
  const handler = `pi.on("before_agent_start", () => ({ message: { customType: "n", content: "c", display: true } }));`;
  const agent = await startAgent(t, handler + handler);
  const event: HookEvent = { type: "before_agent_start", prompt: "p", systemPrompt: "s" };
  const id = agent.sendRequest({ type: "event", extension: agent.path("a.ts"), event });
  assert.match((await agent.next("failed")).error, /does not support a second message/);
  assert.deepEqual((await agent.response(id)).result, { message: { customType: "n", content: "c", display: true } });
});

test("an action is cancelled before it starts", async (t) => {
  const stops = `pi.on("session_before_fork", () => ({ cancel: false })); pi.on("session_before_fork", () => ({ cancel: true })); pi.on("session_before_fork", () => { throw 1; });`;
  assert.deepEqual(await answer(t, stops, { type: "session_before_fork", entryId: "e" }), { cancel: true });
});

test("a compaction hook is notified when its request is cancelled", async (t) => {
  const agent = await startAgent(
    t,
    `pi.on("session_before_compact", (e: any, ctx: any) => new Promise((resolve) => {
       ctx.ui.notify("waiting"); e.signal.addEventListener("abort", () => resolve({ cancel: true })); }));`,
  );
  const preparation = {
    firstKeptEntryId: "e", tokensBefore: 1, messagesToSummarize: [], turnPrefixMessages: [], isSplitTurn: false,
  };
  const event: HookEvent = { type: "session_before_compact", preparation, branchEntries: [] };
  const id = agent.sendRequest({ type: "event", extension: agent.path("a.ts"), event });
  await agent.next("notify");
  agent.send({ type: "cancel", id });
  assert.deepEqual((await agent.response(id)).result, { cancel: true });
});

test("a shell command of the user is run by the extension's operations", async (t) => {
  const event: HookEvent = { type: "user_bash", command: "ls", excludeFromContext: false, cwd: "/there" };
  const body = `pi.on("user_bash", () => ({ operations: { exec: async (command: string, cwd: string, { onData }: any) => {
    onData(Buffer.from(command + " in ")); onData(Buffer.from(cwd)); return { exitCode: 3 }; } } }));`;
  assert.deepEqual(await answer(t, body, event), {
    result: { output: "ls in /there", exitCode: 3, cancelled: false, truncated: false },
  });
});

test("events without an answer are handled in order and delay nothing", async (t) => {
  const agent = await startAgent(
    t,
    `let release: any; const blocked = new Promise((resolve) => (release = resolve));
     pi.on("turn_start", async (e: any, ctx: any) => { if (e.turnIndex === 0) await blocked; ctx.ui.notify("turn " + e.turnIndex); });
     pi.on("input", () => { release(); return { action: "handled" }; });`,
  );
  agent.sendEvent("a.ts", { type: "turn_start", turnIndex: 0, timestamp: 1 });
  agent.sendEvent("a.ts", { type: "turn_start", turnIndex: 1, timestamp: 1 });
  const id = agent.sendRequest({ type: "event", extension: agent.path("a.ts"), event: { type: "input", text: "", source: "rpc" } });
  const seen: string[] = [];
  for (let frames = 0; frames < 3; frames++) {
    const line = await agent.line();
    if (line.type === "response") assert.equal(line.id, id);
    if (line.type === "notify") seen.push(line.message);
  }
  assert.deepEqual(seen, ["turn 0", "turn 1"]);
});

test("a tool reports its progress and returns its result", async (t) => {
  const agent = await startAgent(
    t,
    `pi.registerTool({ name: "dice", description: "", parameters: { type: "object" },
       execute: async (id: string, params: any, signal: any, onUpdate: any, ctx: any) => {
         onUpdate({ content: [{ type: "text", text: "rolling" }], details: { step: 1 } });
         if (params.fail) throw new Error("lost the die");
         if (params.wait) await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
         return { content: [{ type: "text", text: id + ctx.cwd.length }], details: { roll: 4 } };
       } });`,
  );
  const tool = (params: object): string =>
    agent.sendRequest({ type: "tool", extension: agent.path("a.ts"), name: "dice", toolCallId: "c", params });
  const shows = async (id: string): Promise<void> =>
    assert.deepEqual(await agent.next("tool_update"), {
      type: "tool_update", id, content: [{ type: "text", text: "rolling" }], details: { step: 1 },
    });
  let id = tool({});
  await shows(id);
  const text = `c${agent.folder.length}`;
  assert.deepEqual((await agent.response(id)).result, { content: [{ type: "text", text }], details: { roll: 4 } });
  id = tool({ fail: true });
  await shows(id);
  assert.equal((await agent.response(id)).error, "lost the die");
  id = tool({ wait: true });
  await shows(id);
  agent.send({ type: "cancel", id });
  assert.equal((await agent.response(id)).error, "stopped");
});

test("errors outside of handlers are reported, and the process continues", async (t) => {
  const agent = await startAgent(
    t,
    `pi.registerCommand("timer", { handler: async () => { setImmediate(() => { throw new Error("in a timer"); }); } });
     pi.registerCommand("promise", { handler: async () => { void Promise.reject(new Error("in a promise")); } });`,
  );
  for (const where of ["timer", "promise"]) {
    await agent.response(agent.command("a.ts", where));
    const extension = agent.path("a.ts");
    assert.deepEqual(await agent.next("failed"), { type: "failed", extension, event: "uncaught", error: `in a ${where}` });
  }
});

test("fm_f22_output_of_an_extension_or_its_child_goes_to_stderr", async (t) => {
  const body = `console.log("from the factory");
    pi.registerCommand("noise", { handler: async (_: string, ctx: any) => {
      process.stdout.write("no newline "); execSync("echo from a child; cat", { stdio: "inherit" }); ctx.ui.notify("whole"); } });
    pi.registerCommand("another", { handler: async () => {} });`;
  const head = `import { execSync } from "node:child_process";`;
  const agent = new TestAgent(t, { "a.ts": extension(body, head) }, "pipes");
  await agent.initialize("a.ts");
  const id = agent.command("a.ts", "noise");
  // The child would consume this line if it could read the host's stdin.
  const another = agent.command("a.ts", "another");
  assert.equal((await agent.next("notify")).message, "whole");
  await agent.response(id);
  await agent.response(another);
  agent.end();
  await agent.exit;
  assert.equal(readFileSync(agent.path("stderr"), "utf8"), "from the factory\nno newline from a child\n");
});

test("over sockets, output of an extension goes to stderr too", async (t) => {
  const agent = new TestAgent(t, {
    "a.ts": extension(`pi.registerCommand("noise", { handler: async () => { console.log("noise"); console.error("error"); } });`),
  });
  await agent.initialize("a.ts");
  await agent.response(agent.command("a.ts", "noise"));
  agent.end();
  assert.equal(await agent.exit, 0);
  assert.equal(agent.stderr, "noise\nerror\n");
});
