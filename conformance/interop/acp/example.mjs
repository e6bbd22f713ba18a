// Tests pi's own RpcClient with the example agent of ACP's SDK, through `agentese bridge --to pi --from acp`.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const CLIENT = "node_modules/@mariozechner/pi-coding-agent/dist/modes/rpc/rpc-client.js";
const found = [join(process.env.PEERS ?? "", "pi", CLIENT), path(`../${CLIENT}`)].find(existsSync);
const { RpcClient } = await import(pathToFileURL(found));
const agent = [process.execPath, path("./node_modules/example-agent/dist/examples/agent.js")];

const home = await mkdtemp(join(tmpdir(), "agentese-acp-example-"));
const command = ["bridge", "--to", "pi", "--from", "acp", "--", ...agent];
const client = new RpcClient({
  cliPath: path("../shim.mjs"),
  cwd: home,
  env: { HOME: home, AGENTESE: process.env.AGENTESE, INTEROP_COMMAND: JSON.stringify(command) },
});
const questions = [];
let choice = 0;
client.onEvent((event) => {
  if (event.type !== "extension_ui_request" || event.method !== "select") return;
  questions.push(event);
  client.process.stdin.write(`${JSON.stringify({ type: "extension_ui_response", id: event.id, value: event.options[choice] })}\n`);
});
await client.start();
try {
  const events = await client.promptAndWait("hello", undefined, 60_000);
  const types = events.map((event) => event.type);
  assert.deepEqual([types[0], types.at(-1)], ["agent_start", "agent_end"]);
  for (const type of ["message_update", "tool_execution_start", "tool_execution_end", "turn_end"]) assert.ok(types.includes(type), type);
  assert.deepEqual(questions[0].options, ["Allow this change", "Skip this change"]);
  const ends = events.filter((event) => event.type === "tool_execution_end");
  assert.deepEqual(ends.map(({ toolCallId, isError }) => [toolCallId, isError]), [["call_1", false], ["call_2", false]]);
  assert.match(await client.getLastAssistantText(), /successfully updated the configuration/);
  const roles = (await client.getMessages()).map(({ role }) => role);
  assert.deepEqual(roles, ["user", "assistant", "toolResult", "assistant", "toolResult", "assistant"]);

  choice = 1;
  await client.promptAndWait("again", undefined, 60_000);
  assert.match(await client.getLastAssistantText(), /skip the configuration update/);

  const grown = new Promise((resolve) => client.onEvent((event) => event.type === "message_update" && resolve()));
  await client.prompt("and stop");
  await grown;
  const stopped = client.waitForIdle(60_000);
  await client.abort();
  await stopped;
  const last = (await client.getMessages()).at(-1);
  assert.deepEqual([last.role, last.stopReason], ["assistant", "aborted"]);
  console.log(`ok: pi's RpcClient drives the SDK's example agent: ${events.length} events, ${questions.length} permissions, an abort`);
} finally {
  await client.stop();
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
}
