// `HttpAgent` of @ag-ui/client against `agentese bridge --to ag-ui`: text, reasoning, a tool, a question with
// its answer, a failure, an abort, parallel calls and a lost connection, in each dialect of the agent and with an
// agent of ACP. The schemas of @ag-ui/core validate every event, and `runAgent` verifies their order.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { HttpAgent, verifyEvents } from "@ag-ui/client";
import * as schemas from "@ag-ui/core/schemas";
import { from, lastValueFrom } from "rxjs";

const EVENTS = schemas.EventSchemas ?? schemas.EventSchema;
assert.ok(EVENTS, "the schemas of events are there");
const ask = { tool: { id: "c1", name: "bash", args: { command: "echo out-of-it" } } };
const call = (id) => ({ tool: { id, name: "bash", args: { command: `echo ${id}` } } });
const SCRIPT = {
  responses: [
    { when: { user: "tool", tool_results: false }, keep: true, blocks: [{ text: "I look." }, ask] },
    { when: { user: "tool" }, keep: true, text: "I see." },
    { when: { user: "several", tool_results: false }, keep: true, blocks: [{ text: "I look." }, call("p1"), call("p2"), call("p3")] },
    { when: { user: "several" }, keep: true, text: "All done." },
    { when: { user: "slow" }, keep: true, blocks: [{ text: ["a", "b", "c", "d"] }], delay_ms: 100 },
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
  const mode = dialect === "acp" ? ["--mode", "acp"] : ["--mode", "rpc", "--no-session", "--dialect", dialect];
  const agent = [process.env.AGENTESE, ...mode, "--script", script];
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

/** Checks that nothing stands between the start and the end of a call or a text but its own pieces. */
function assertSequential(events, dialect) {
  let open;
  for (const { type, toolCallId, messageId } of events) {
    const id = toolCallId ?? messageId;
    if (open !== undefined) {
      assert.equal(id, open, `${dialect}: ${type} within another part`);
      if (["TOOL_CALL_END", "TEXT_MESSAGE_END", "REASONING_END"].includes(type)) open = undefined;
    } else if (["TOOL_CALL_START", "TEXT_MESSAGE_START", "REASONING_START"].includes(type)) {
      open = id;
    }
  }
}

/** Reads events of a request until `enough` returns true. Returns the events and the id of the last one. */
async function readEvents(url, init, enough) {
  const stop = new AbortController();
  const response = await fetch(url, { ...init, signal: stop.signal });
  assert.equal(response.status, 200);
  const events = [];
  let [id, rest] = ["", ""];
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("id: ")) id = line.slice(4);
      if (!line.startsWith("data: ")) continue;
      events.push(EVENTS.parse(JSON.parse(line.slice(6))));
      if (!enough(events.at(-1))) continue;
      stop.abort();
      return { events, id };
    }
  }
  return { events, id };
}

const say = (agent, id, content) => agent.addMessage({ id, role: "user", content });
const text = (events, type) => events.filter((event) => event.type === type).map(({ delta }) => delta).join("");
const last = (agent) => agent.messages.at(-1);

for (const dialect of ["pi", "omp", "pisces", "opal", "operator", "acp"]) {
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

    say(agent, "m6", "several");
    const parallel = await run(agent);
    assert.equal(parallel.failure, undefined, dialect);
    assert.equal(parallel.events.filter(({ type }) => type === "TOOL_CALL_RESULT").length, 3, dialect);
    assertSequential(parallel.events, dialect);
    assert.equal(last(agent).content, "All done.", dialect);

    say(agent, "m5", "fail");
    const failed = await run(agent);
    const error = failed.events.find(({ type }) => type === "RUN_ERROR");
    assert.match(error.message, /no such thing/, dialect);
  });
  console.log(`ok: HttpAgent drives an agent of ${dialect}`);
}

await withBridge("pi", {}, async (url) => {
  const input = { threadId: "t", runId: "r", messages: [{ id: "m1", role: "user", content: "slow" }], tools: [], context: [] };
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(input) };
  const first = await readEvents(url, post, ({ type }) => type === "TEXT_MESSAGE_CONTENT");
  const rest = await readEvents(url, { headers: { "last-event-id": first.id } }, () => false);
  const events = [...first.events, ...rest.events];
  assert.equal(text(events, "TEXT_MESSAGE_CONTENT"), "abcd");
  assert.equal(events.at(-1).type, "RUN_FINISHED");
  await lastValueFrom(verifyEvents(false)(from(events)));
});
console.log("ok: a client that reconnects reads the rest of its run");

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
