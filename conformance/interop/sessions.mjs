// Tests the exchange of session files between pi and the reference agent, in a revision of pi (`sessions.mjs
// [pi@0.55|pi@1.5]`). Each agent opens the other's file, reports the same conversation, continues it, and
// passes it back. The model is a script on loopback.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PROGRAM } from "./agents/real.mjs";

const REVISION = process.argv[2] ?? "pi@0.55";
const IS_NEWER = REVISION !== "pi@0.55";
const AGENTS = { pi: [...PROGRAM[REVISION](), "--offline"], agentese: [process.env.AGENTESE, "--dialect", REVISION] };
/** Last event of a run, after all its other events. */
const END = IS_NEWER ? "agent_settled" : "agent_end";
const IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LONG = "some words that fill the context until it is summarised ".repeat(30);

// ---- the model: its answers, in the order of the requests

let answers = [];
const model = createServer((request, response) => {
  request.resume().on("end", () => {
    const answer = answers.shift() ?? [{ text: "nothing is left to say" }];
    if (answer.status) {
      const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
      response.writeHead(answer.status, { "content-type": "application/json", "x-should-retry": "false" });
      return response.end(JSON.stringify(error));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const say = (type, rest) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`);
    say("message_start", { message: { id: "m", role: "assistant", content: [], usage: { input_tokens: 100, output_tokens: 1 } } });
    answer.forEach((block, index) => {
      const [start, ...deltas] = pieces(block, index);
      say("content_block_start", { index, content_block: start });
      for (const delta of deltas) say("content_block_delta", { index, delta });
      say("content_block_stop", { index });
    });
    const stop_reason = answer.some((block) => block.tool) ? "tool_use" : "end_turn";
    say("message_delta", { delta: { stop_reason }, usage: { output_tokens: 20 } });
    say("message_stop", {});
    response.end();
  });
});

function pieces(block, index) {
  if (block.tool)
    return [
      { type: "tool_use", id: `toolu_${Date.now()}_${index}`, name: block.tool, input: {} },
      { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
    ];
  if (block.thinking)
    return [
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: block.thinking },
      { type: "signature_delta", signature: "c2ln" },
    ];
  return [{ type: "text", text: "" }, { type: "text_delta", text: block.text }];
}

// ---- the client

class Agent {
  constructor(name, home, args) {
    const [program, ...first] = AGENTS[name];
    // The environment contains only these variables, without keys and settings of the caller.
    const env = { PATH: process.env.PATH, HOME: home, PI_OFFLINE: "1", NO_COLOR: "1" };
    this.name = name;
    this.child = spawn(program, [...first, "--mode", "rpc", ...args], { cwd: home, env });
    this.frames = [];
    this.waiting = [];
    this.errors = "";
    let rest = "";
    this.child.stdout.setEncoding("utf8").on("data", (data) => {
      const lines = (rest + data).split("\n");
      rest = lines.pop();
      for (const line of lines) this.frames.push(JSON.parse(line));
      this.look();
    });
    this.child.stderr.setEncoding("utf8").on("data", (data) => (this.errors += data));
    this.exited = new Promise((resolve) => this.child.on("exit", resolve));
  }

  look() {
    this.waiting = this.waiting.filter(({ from, wanted, resolve }) => {
      const frame = this.frames.slice(from).find(wanted);
      if (frame) resolve(frame);
      return !frame;
    });
  }

  wait(what, wanted, from) {
    return new Promise((resolve, reject) => {
      const failed = () => reject(new Error(`${this.name}: no ${what}; ${this.errors}`));
      const timer = setTimeout(failed, 60_000);
      this.waiting.push({ from, wanted, resolve: (frame) => (clearTimeout(timer), resolve(frame)) });
      this.look();
    });
  }

  async send(type, params = {}) {
    const [id, from] = [`${this.frames.length}-${type}`, this.frames.length];
    this.child.stdin.write(JSON.stringify({ id, type, ...params }) + "\n");
    const answer = await this.wait(`answer to ${type}`, (frame) => frame.type === "response" && frame.id === id, from);
    assert.ok(answer.success, `${this.name}: ${type}: ${answer.error}`);
    return answer.data;
  }

  async prompt(message, params = {}, last = END) {
    const from = this.frames.length;
    await this.send("prompt", { message, ...params });
    const end = await this.wait(last, (frame) => frame.type === last, from);
    // After a retry, the real end of the run follows the first end event.
    if (last !== END) await this.wait(END, (frame) => frame.type === END, this.frames.indexOf(end));
  }

  /// Returns the visible state of a session, without values of the process.
  async view() {
    const state = await this.send("get_state");
    const { sessionFile, ...stats } = await this.send("get_session_stats");
    const { messages } = await this.send("get_messages");
    // A compaction of pi 1.5 gives the system message a new time, which the reference agent does not report:
    // see docs/pi-1.5.md.
    const isCompacted = messages.some(({ role }) => role === "compactionSummary");
    const timeless = ({ timestamp, ...message }) => (isCompacted && message.role === "system" ? message : { timestamp, ...message });
    return {
      messages: messages.map(timeless),
      points: (await this.send("get_fork_messages")).messages,
      // The document specifies null, but pi omits the member.
      text: (await this.send("get_last_assistant_text")).text ?? null,
      name: state.sessionName,
      level: state.thinkingLevel,
      model: state.model.id,
      stats,
    };
  }

  async close() {
    this.child.stdin.end();
    const code = await Promise.race([this.exited, new Promise((resolve) => setTimeout(resolve, 10_000, "late").unref())]);
    if (code === "late") this.child.kill("SIGKILL");
    assert.equal(code, 0, `${this.name}: exit ${code}; ${this.errors}`);
  }
}

// ---- the steps of a session

const SESSIONS = {
  async tools(agent) {
    answers = [
      [{ thinking: "first a file" }, { text: "I write." }, { tool: "write", input: { path: "a.txt", content: "one\ntwo\n" } }],
      [{ tool: "edit", input: { path: "a.txt", oldText: "two", newText: "2" } }, { tool: "read", input: { path: "a.txt" } }],
      [{ tool: "bash", input: { command: "echo out; exit 3" } }, { tool: "teleport", input: {} }, { text: "Done." }],
      [{ text: "All done." }],
      [{ text: "I see it." }],
    ];
    await agent.send("set_session_name", { name: "Tools – ü" });
    await agent.send("set_thinking_level", { level: "high" });
    await agent.prompt("Write a file.");
    await agent.send("bash", { command: "echo from the user" });
    await agent.prompt("Look.", { images: [{ type: "image", data: IMAGE, mimeType: "image/png" }] });
  },
  async compaction(agent) {
    const read = [{ text: LONG }, { tool: "read", input: { path: "missing.txt" } }];
    answers = [[{ text: LONG }], read, [{ text: LONG }], [{ text: "What was said." }], [{ text: "The beginning of the turn." }], [{ text: "After it." }]];
    await agent.prompt(`one ${LONG}`);
    await agent.prompt(`two ${LONG}`);
    await agent.send("compact", { customInstructions: "the files" });
    await agent.send("set_thinking_level", { level: "low" });
    await agent.prompt("three");
  },
  async fork(agent) {
    answers = [[{ text: "1" }], [{ text: "2" }], [{ text: "another 2" }], [{ text: "3" }]];
    await agent.prompt("first");
    await agent.prompt("second");
    const points = (await agent.send("get_fork_messages")).messages;
    await agent.send("fork", { entryId: points[1].entryId });
    await agent.prompt("second, in other words");
    await agent.send("set_model", { provider: "local", modelId: "plain" });
    await agent.prompt("third");
  },
  async retry(agent) {
    answers = [{ status: 529 }, [{ text: "at last" }], [{ tool: "bash", input: { command: "echo begun; sleep 60" } }]];
    await agent.prompt("try", {}, "auto_retry_end");
    const from = agent.frames.length;
    await agent.send("prompt", { message: "wait" });
    await agent.wait("tool", (frame) => frame.type === "tool_execution_update", from);
    await agent.send("abort");
  },
};

const folder = await mkdtemp(join(tmpdir(), "agentese-interop-"));
await new Promise((resolve) => model.listen(0, "127.0.0.1", resolve));

async function home(name) {
  const place = join(folder, name);
  await mkdir(join(place, ".pi/agent"), { recursive: true });
  const models = [{ id: "deep", reasoning: true, input: ["text", "image"] }, { id: "plain" }];
  const local = { baseUrl: `http://127.0.0.1:${model.address().port}`, api: "anthropic-messages", apiKey: "none", models };
  await writeFile(join(place, ".pi/agent/models.json"), JSON.stringify({ providers: { local } }));
  const settings = { retry: { baseDelayMs: 10 }, compaction: { keepRecentTokens: 200 } };
  await writeFile(join(place, ".pi/agent/settings.json"), JSON.stringify(settings));
  return place;
}

async function within(agent, what) {
  try {
    const result = await what(agent);
    await agent.close();
    return result;
  } finally {
    agent.child.kill("SIGKILL");
  }
}

try {
  for (const [writer, reader] of [["agentese", "pi"], ["pi", "agentese"]]) {
    for (const [name, play] of Object.entries(SESSIONS)) {
      const place = await home(`${writer}-${name}`);
      const written = await within(new Agent(writer, place, ["--model", "local/deep"]), async (agent) => {
        await play(agent);
        return { file: (await agent.send("get_state")).sessionFile, view: await agent.view() };
      });
      const open = (agent) => new Agent(agent, place, ["--session", written.file]);
      // The baseline is the session after the writer has reopened it, because the file does not contain all
      // values of the process.
      const kept = await within(open(writer), (agent) => agent.view());
      const read = await within(open(reader), async (agent) => {
        assert.deepEqual(await agent.view(), kept, `${name}: ${reader} reads another session than ${writer}`);
        answers = [[{ text: "and on it goes" }]];
        await agent.prompt("go on");
        return agent.view();
      });
      await within(open(writer), async (agent) => assert.deepEqual(await agent.view(), read, `${name}: back at ${writer}`));
      console.log(`${name}: ${read.messages.length} messages from ${writer} to ${reader} and back`);
    }
  }
} finally {
  model.closeAllConnections();
  model.close();
  await rm(folder, { recursive: true, force: true });
}
