// Tests `HttpAgent` of @ag-ui/client against `agentese bridge --to ag-ui`: text, reasoning, a tool, a
// question with its answer, a failure, an abort, in each dialect of the agent. The schemas of @ag-ui/core
// validate every event.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { HttpAgent } from "@ag-ui/client";
import * as schemas from "@ag-ui/core/schemas";

const EVENTS = schemas.EventSchemas ?? schemas.EventSchema;
assert.ok(EVENTS, "the schemas of events are there");
const ask = { tool: { id: "c1", name: "bash", args: { command: "echo out-of-it" } } };
const SCRIPT = {
  responses: [
    { when: { user: "tool", tool_results: false }, keep: true, blocks: [{ text: "I look." }, ask] },
    { when: { user: "tool" }, keep: true, text: "I see." },
    { when: { user: "hello" }, keep: true, blocks: [{ thinking: ["h", "m"] }, { text: ["Hello", " there"] }] },
    { when: { user: "hang" }, keep: true, blocks: [{ text: ["so ", "far ", "so"] }], hang_after: 2 },
    { when: { user: "fail" }, keep: true, error: { status: 400, type: "invalid_request_error", message: "no such thing" } },
  ],
};
let checked = 0;

/** Runs a program with a bridge, and ends the bridge. */
async function withBridge(dialect, settings, program) {
  const root = await mkdtemp(join(tmpdir(), "agentese-agui-"));
  const [home, work, script] = [join(root, "home"), join(root, "work"), join(root, "script.json")];
  await mkdir(join(home, ".pi/agent"), { recursive: true });
  await mkdir(work);
  await writeFile(join(home, ".pi/agent/settings.json"), JSON.stringify(settings));
  const named = JSON.stringify(SCRIPT).replaceAll('"bash"', dialect === "opal" ? '"shell"' : '"bash"');
  await writeFile(script, named);
  const agent = [process.env.AGENTESE, "--mode", "rpc", "--no-session", "--dialect", dialect, "--script", script];
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: root };
  const bridge = spawn(process.env.AGENTESE, ["bridge", "--to", "ag-ui", "--from", dialect, "--", ...agent], {
    env, cwd: work, stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((done) => bridge.once("exit", done));
  try {
    const [url] = await new Promise((found, failed) => {
      createInterface({ input: bridge.stdout }).once("line", (line) => found([line]));
      bridge.once("exit", () => failed(new Error("the bridge does not start")));
    });
    await program(url);
  } finally {
    bridge.kill();
    await ended;
    await rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }
}

/** Runs the agent and validates every event. */
async function run(agent, parameters, onEvent = () => {}) {
  const events = [];
  const seen = ({ event }) => {
    EVENTS.parse(event);
    checked += 1;
    events.push(event);
    onEvent(event);
  };
  let failure;
  try {
    await agent.runAgent(parameters, { onEvent: seen });
  } catch (error) {
    failure = error;
  }
  return { events, failure };
}

const say = (agent, id, content) => agent.addMessage({ id, role: "user", content });
const text = (events, type) => events.filter((event) => event.type === type).map(({ delta }) => delta).join("");
const last = (agent) => agent.messages.at(-1);

for (const dialect of ["pi", "omp", "pisces", "opal", "operator"]) {
  await withBridge(dialect, {}, async (url) => {
    const agent = new HttpAgent({ url, threadId: "t" });
    say(agent, "m1", "hello");
    const first = await run(agent);
    assert.equal(first.failure, undefined, dialect);
    assert.equal(text(first.events, "REASONING_MESSAGE_CONTENT"), "hm", dialect);
    assert.deepEqual([last(agent).role, last(agent).content], ["assistant", "Hello there"], dialect);
    assert.deepEqual(agent.messages.map(({ role }) => role), ["user", "reasoning", "assistant"], dialect);

    say(agent, "m2", "tool");
    const second = await run(agent);
    assert.equal(second.failure, undefined, dialect);
    const roles = agent.messages.map(({ role }) => role);
    assert.deepEqual(roles.slice(3), ["user", "assistant", "tool", "assistant"], dialect);
    const { toolCalls } = agent.messages[4];
    assert.equal(JSON.parse(toolCalls[0].function.arguments).command, "echo out-of-it", dialect);
    assert.match(agent.messages[5].content, /out-of-it/, dialect);

    say(agent, "m3", "hang");
    const third = await run(agent, {}, (event) => event.type === "TEXT_MESSAGE_CONTENT" && agent.abortRun());
    assert.ok(third.events.length > 0, dialect);
    say(agent, "m4", "hello");
    assert.equal((await run(agent)).failure, undefined, dialect);
    assert.equal(last(agent).content, "Hello there", `${dialect}: after an abort`);

    say(agent, "m5", "fail");
    const failed = await run(agent);
    const error = failed.events.find(({ type }) => type === "RUN_ERROR");
    assert.match(error.message, /no such thing/, dialect);
  });
  console.log(`ok: HttpAgent drives an agent of ${dialect}`);
}

await withBridge("pi", { approval: { tools: ["bash"] } }, async (url) => {
  const agent = new HttpAgent({ url, threadId: "t" });
  say(agent, "m1", "tool");
  const first = await run(agent);
  const { outcome } = first.events.at(-1);
  assert.equal(outcome.type, "interrupt");
  const [{ id, responseSchema }] = outcome.interrupts;
  const payload = responseSchema.enum?.[0] ?? true;
  const second = await run(agent, { resume: [{ interruptId: id, status: "resolved", payload }] });
  assert.equal(second.failure, undefined);
  assert.equal(last(agent).content, "I see.");
});
console.log(`ok: a question interrupts a run, and its answer goes on with it; ${checked} events are as @ag-ui/core has them`);
