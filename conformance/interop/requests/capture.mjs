// Lets the agent send requests of every kind to each model API, and writes them to one TypeScript file per
// API.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

import { NAMES, start } from "./model.mjs";

const PATIENCE = 60_000;
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** Models of each API: one for each variant of its requests. */
const MODELS = {
  "anthropic-messages": [{ id: "claude-sonnet-4-5" }, { id: "claude-opus-4-6" }, { id: "plain", reasoning: false }],
  "openai-completions": [
    { id: "gpt-5.2", compat: { supportsDeveloperRole: true, supportsStore: true, supportsReasoningEffort: true, maxTokensField: "max_completion_tokens" } },
    { id: "other" },
    { id: "plain", reasoning: false },
  ],
  "openai-responses": [{ id: "gpt-5.2" }, { id: "plain", reasoning: false }],
  "google-generative-ai": [{ id: "gemini-3-pro" }, { id: "gemini-2.5-flash" }, { id: "plain", reasoning: false }],
};
/** The type of a request of each API. */
const TYPES = {
  "anthropic-messages": "Messages",
  "openai-completions": "Completion",
  "openai-responses": "Response",
  "google-generative-ai": "Content",
};

/** A running agent, with the answers that it sent. */
class Agent {
  constructor(root, model) {
    const env = { PATH: process.env.PATH, HOME: join(root, "home"), TMPDIR: root };
    const args = ["--mode", "rpc", "--no-session", "--provider", "seen", "--model", model];
    this.child = spawn(process.env.AGENTESE, args, { env, cwd: join(root, "work"), stdio: ["pipe", "pipe", "inherit"] });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  async until(found) {
    const late = setTimeout(() => this.child.kill("SIGKILL"), PATIENCE);
    try {
      for (;;) {
        const { value, done } = await this.lines.next();
        assert.ok(!done, "the agent has ended");
        const frame = JSON.parse(value);
        assert.ok(frame.type !== "response" || frame.success, value);
        if (found(frame)) return frame;
      }
    } finally {
      clearTimeout(late);
    }
  }

  send(command) {
    this.child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  async ask(command) {
    this.send({ id: "ask", ...command });
    return this.until((frame) => frame.type === "response" && frame.id === "ask");
  }

  async run(message, more = {}) {
    this.send({ type: "prompt", message, ...more });
    return this.until((frame) => frame.type === "agent_end");
  }

  async end() {
    const over = new Promise((resolve) => this.child.on("close", resolve));
    this.child.stdin.end();
    await over;
  }
}

async function converse(root, model) {
  const agent = new Agent(root, model.id);
  await agent.run("hello");
  for (const level of model.reasoning === false ? ["off"] : ["off", "low", "high"]) {
    await agent.ask({ type: "set_thinking_level", level });
    await agent.run("use a tool, please");
  }
  await agent.run("look at the picture");
  await agent.run("and this", { images: [{ type: "image", data: PICTURE, mimeType: "image/png" }] });
  await agent.run("fail, please");
  await agent.ask({ type: "bash", command: "echo by hand" });
  await agent.run("and now?");
  await agent.ask({ type: "compact" });
  await agent.run("after all that");
  await agent.end();
}

const target = resolve(process.argv[2]);
await mkdir(target, { recursive: true });
for (const api of NAMES) {
  const model = await start();
  const root = await mkdtemp(join(tmpdir(), "agentese-requests-"));
  await mkdir(join(root, "home/.pi/agent"), { recursive: true });
  await mkdir(join(root, "work"));
  await writeFile(join(root, "work/picture.png"), Buffer.from(PICTURE, "base64"));
  await writeFile(join(root, "work/AGENTS.md"), "Be brief.");
  const models = MODELS[api].map((model) => ({ reasoning: true, input: ["text", "image"], ...model }));
  const baseUrl = `http://127.0.0.1:${model.port}`;
  const providers = { seen: { api, baseUrl, apiKey: "none", models } };
  await writeFile(join(root, "home/.pi/agent/models.json"), JSON.stringify({ providers }));
  // These settings let even a short conversation be compacted.
  await writeFile(join(root, "home/.pi/agent/settings.json"), JSON.stringify({ compaction: { keepRecentTokens: 1 } }));
  // This MCP server has tools with schemas that some APIs reject.
  const servers = { zoo: { command: "python3", args: [resolve("zoo.py")] } };
  await writeFile(join(root, "home/.pi/agent/mcp.json"), JSON.stringify({ mcpServers: servers }));
  for (const one of models) await converse(root, one);
  model.close();
  await rm(root, { recursive: true });
  const bodies = model.requests.map(({ body }) => JSON.stringify(body, null, 1));
  assert.ok(bodies.length > 15, `${api}: only ${bodies.length} requests`);
  for (const part of ["tools", "image", "picture", "by hand", "weird"]) {
    assert.ok(bodies.some((body) => body.includes(part)), `${api}: no request has ${part}`);
  }
  const type = TYPES[api];
  const lines = bodies.map((body) => `check(${body});`);
  await writeFile(join(target, `${api}.ts`), `import type { ${type} } from "./types";\nconst check = (_: ${type}): void => {};\n${lines.join("\n")}\n`);
  console.log(`${api}: ${bodies.length} requests`);
}
