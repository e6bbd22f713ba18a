// Tests third-party ACP clients against the real pi and omp behind `agentese bridge --to acp`: prompt,
// streaming, tool call, permission, rejection, cancel, list, load. PEERS names the folder of the agents.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import * as acp from "@agentclientprotocol/sdk";

import { startModel } from "../agents/model.mjs";
import { PROFILES } from "../agents/profiles.mjs";
import { REAL, WORDS } from "../agents/real.mjs";

const GUARD = fileURLToPath(new URL("../agents/guard.ts", import.meta.url));
const ACPX = fileURLToPath(new URL("./node_modules/.bin/acpx", import.meta.url));
const AGENTS = {
  "pi@0.55": REAL["pi@0.55"](),
  "pi@1.5": REAL["pi@1.5"](),
  "omp@13.19": REAL["omp@13.19"](),
  agentese: [process.env.AGENTESE, ...WORDS, "--dialect", "pi"],
};

/** Creates a home and a working directory, and returns them with the bridge's command line. */
async function place(name, words, model) {
  const dialect = name === "agentese" ? "pi" : name.split("@")[0];
  const root = await realpath(await mkdtemp(join(tmpdir(), "agentese-acp-behind-")));
  const [home, work] = [join(root, "home"), join(root, "work")];
  await mkdir(work, { recursive: true });
  for (const [file, content] of Object.entries(PROFILES[dialect].files(model.url)).filter(([, content]) => content)) {
    await mkdir(dirname(join(home, file)), { recursive: true });
    await writeFile(join(home, file), typeof content === "string" ? content : JSON.stringify(content));
  }
  const guarded = name === "agentese" ? [] : ["-e", GUARD];
  if (name === "agentese") await writeFile(join(home, ".pi/agent/settings.json"), JSON.stringify({ approval: { tools: ["bash"] } }));
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: root, LANG: "C.UTF-8", PI_OFFLINE: "1" };
  const command = [process.env.AGENTESE, "bridge", "--to", "acp", "--from", dialect, "--", ...words, ...guarded];
  return { work, env, command, end: () => rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 }) };
}

/** Runs a program with a bridge, and ends the bridge. */
async function withBridge({ work, env, command }, program) {
  const bridge = spawn(command[0], command.slice(1), { env, cwd: work, stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((done) => bridge.once("exit", done));
  const seen = { updates: [], questions: [], choice: "allow" };
  const client = acp
    .client({ name: "interop" })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      seen.questions.push(params);
      return { outcome: { outcome: "selected", optionId: seen.choice } };
    })
    .onNotification(acp.methods.client.session.update, ({ params }) => void seen.updates.push(params.update));
  const stream = acp.ndJsonStream(Writable.toWeb(bridge.stdin), Readable.toWeb(bridge.stdout));
  await client.connectWith(stream, async (agent) => {
    await agent.request(acp.methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
    await program({ agent, seen });
  });
  bridge.stdin.end();
  assert.equal(await ended, 0, "the bridge ends in good order");
}

const text = (updates, kind = "agent_message_chunk") =>
  updates.filter((update) => update.sessionUpdate === kind).map((update) => update.content.text).join("");
const last = (updates) => updates.findLast((update) => update.sessionUpdate === "tool_call_update");
const say = (agent, sessionId, words) =>
  agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: words }] });

async function sdk(name, here) {
  let sessionId;
  await withBridge(here, async ({ agent, seen }) => {
    ({ sessionId } = await agent.request(acp.methods.agent.session.new, { cwd: here.work, mcpServers: [] }));
    assert.deepEqual(await say(agent, sessionId, "use a tool"), { stopReason: "end_turn" }, name);
    assert.match(text(seen.updates), /I look\..*The tool said: .*from the tool/s, name);
    assert.equal(last(seen.updates).status, "completed", name);
    assert.equal(seen.questions.length, 1, `${name}: one question`);

    Object.assign(seen, { choice: "reject", updates: [] });
    assert.deepEqual(await say(agent, sessionId, "use a tool"), { stopReason: "end_turn" }, name);
    assert.ok(seen.updates.some((update) => update.sessionUpdate === "tool_call_update" && update.status === "failed"), `${name}: rejected`);

    seen.updates.length = 0;
    const turn = say(agent, sessionId, "speak slowly");
    while (!text(seen.updates)) await new Promise((done) => setImmediate(done));
    await agent.notify(acp.methods.agent.session.cancel, { sessionId });
    assert.deepEqual(await turn, { stopReason: "cancelled" }, name);
    assert.deepEqual(await say(agent, sessionId, "on"), { stopReason: "end_turn" }, name);
  });
  await withBridge(here, async ({ agent, seen }) => {
    const { sessions } = await agent.request(acp.methods.agent.session.list, { cwd: here.work });
    assert.deepEqual(sessions.map((session) => session.sessionId), [sessionId], name);
    await agent.request(acp.methods.agent.session.load, { sessionId, cwd: here.work, mcpServers: [] });
    assert.match(text(seen.updates, "user_message_chunk"), /^use a tooluse a toolspeak slowly/, name);
    assert.match(text(seen.updates), /^I look\./, name);
    assert.deepEqual(await say(agent, sessionId, "on"), { stopReason: "end_turn" }, name);
  });
  console.log(`ok: ${name} behind the SDK's client: prompt, streaming, tool call, permission, rejection, cancel, list, load`);
}

async function others(name, { work, env, command }) {
  const quoted = command.map((word) => (/\s/.test(word) ? `"${word}"` : word)).join(" ");
  for (const [client, program, options] of [
    ["acpx", ACPX, ["--agent", quoted, "--approve-all", "--format", "json", "exec", "use a tool"]],
    ["the crate's example client", process.env.YOLO, ["--command", quoted, "use a tool"]],
  ]) {
    const { stdout, stderr } = await promisify(execFile)(program, options, { cwd: work, env, timeout: 120_000 });
    assert.match(stdout + stderr, /The tool said: /, `${name}, ${client}`);
    assert.match(stdout + stderr, /end_turn|EndTurn/, `${name}, ${client}`);
    console.log(`ok: ${name} behind ${client}: prompt, streaming, tool call, permission`);
  }
}

const asked = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(AGENTS);
const model = await startModel();
try {
  for (const name of asked) {
    for (const play of [sdk, others]) {
      const here = await place(name, AGENTS[name], model);
      try {
        await play(name, here);
      } finally {
        await here.end();
      }
    }
  }
} finally {
  model.stop();
}
