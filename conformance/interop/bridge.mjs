// Tests pi's own RpcClient 0.55.4 against agents of another dialect or revision behind `agentese bridge --to
// pi@0.55`. The agents are the real omp, the real pi 1.5.2, and the reference agent in Opal and Operator.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { startModel } from "./agents/model.mjs";
import { PROFILES } from "./agents/profiles.mjs";

const { RpcClient } = await import("./node_modules/@mariozechner/pi-coding-agent/dist/modes/rpc/rpc-client.js");

const agentese = process.env.AGENTESE ?? "agentese";
const repository = fileURLToPath(new URL("../..", import.meta.url));
const target = process.env.CARGO_TARGET_DIR ?? path.join(repository, "target");
/** Returns the path of a program that `conformance/interop/revisions/install` installs. */
const peer = (file) => path.join(process.env.PEERS ?? path.join(target, "interop/peers"), file);
const PI_152 = "pi152/x/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js";

const own = (dialect) => [agentese, "--mode", "rpc", "--dialect", dialect, "--model", "loopback/one"];
const AGENTS = [
  { name: "omp 13.19", dialect: "omp", command: PROFILES.omp.command.slice(0, 2).concat("--mode", "rpc", "--model", "loopback/one"), profile: PROFILES.omp },
  {
    name: "pi 1.5.2",
    dialect: "pi@1.5",
    command: [peer("pi152/node24/node_modules/.bin/node"), peer(PI_152), "--mode", "rpc", "--model", "loopback/one", "--offline"],
    profile: PROFILES.pi,
  },
  { name: "agentese as opal", dialect: "opal", command: own("opal"), profile: PROFILES.pi },
  { name: "agentese as operator", dialect: "operator", command: own("operator"), profile: PROFILES.pi },
];

/** Runs a prompt with a tool, several queries, and a prompt that is aborted. */
async function drive({ name, dialect, command, profile }, model) {
  const home = await mkdtemp(path.join(tmpdir(), "agentese-bridge-"));
  const files = profile.files(model.url);
  // Opal reads its models from another file.
  files[".opal/models.json"] ??= files[".pi/agent/models.json"];
  for (const [file, content] of Object.entries(files).filter(([, content]) => content)) {
    const at = path.join(home, file);
    await mkdir(path.dirname(at), { recursive: true });
    await writeFile(at, typeof content === "string" ? content : JSON.stringify(content));
  }
  const client = new RpcClient({
    cliPath: fileURLToPath(new URL("./shim.mjs", import.meta.url)),
    cwd: home,
    env: { HOME: home, AGENTESE: agentese, INTEROP_COMMAND: JSON.stringify(["bridge", "--to", "pi@0.55", "--from", dialect, "--", ...command]) },
  });
  await client.start();
  try {
    const events = await client.promptAndWait("use a tool", undefined, 60_000);
    const types = events.map((event) => event.type);
    assert.equal(types[0], "agent_start", name);
    assert.equal(types.at(-1), "agent_end", name);
    for (const type of ["turn_start", "message_start", "message_update", "message_end", "tool_execution_start", "tool_execution_end", "turn_end"])
      assert.ok(types.includes(type), `${name}: no ${type}`);
    const text = await client.getLastAssistantText();
    assert.match(text, /^The tool said: /, name);
    const messages = await client.getMessages();
    assert.deepEqual(messages.map(({ role }) => role), ["user", "assistant", "toolResult", "assistant"], name);
    assert.equal((await client.getState()).isStreaming, false, name);
    const grown = new Promise((resolve) => client.onEvent((event) => event.type === "message_update" && resolve()));
    await client.prompt("speak slowly");
    await grown;
    const stopped = client.waitForIdle(60_000);
    await client.abort();
    await stopped;
    assert.equal((await client.getState()).isStreaming, false, name);
    const last = (await client.getMessages()).at(-1);
    // Opal drops an aborted answer, and Operator does not report the abort.
    if (dialect === "omp" || dialect === "pi@1.5") assert.deepEqual([last.role, last.stopReason], ["assistant", "aborted"], name);
    const fresh = await client.newSession();
    assert.equal(fresh.cancelled, false, name);
    assert.equal((await client.getMessages()).length, 0, name);
    console.log(`pi's RpcClient drives ${name}: ${events.length} events, "${text.slice(0, 60)}"`);
  } finally {
    await client.stop();
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

const model = await startModel();
try {
  for (const agent of AGENTS) await drive(agent, model);
} finally {
  model.stop();
}
