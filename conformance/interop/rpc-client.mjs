// Tests pi's own RpcClient, from its npm package, against the reference agent.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

// The package does not export its client, so it is imported by its path.
const { RpcClient } = await import("./node_modules/@mariozechner/pi-coding-agent/dist/modes/rpc/rpc-client.js");

const client = new RpcClient({
  cliPath: fileURLToPath(new URL("./shim.mjs", import.meta.url)),
  cwd: fileURLToPath(new URL("../..", import.meta.url)),
  args: ["--no-session"],
});
await client.start();
try {
  const before = await client.getState();
  assert.equal(before.isStreaming, false);
  const events = await client.promptAndWait("What is in this repository?", undefined, 60_000);
  const types = events.map((event) => event.type);
  assert.equal(types[0], "agent_start");
  assert.equal(types.at(-1), "agent_end");
  for (const type of ["turn_start", "message_start", "message_update", "message_end", "tool_execution_start", "tool_execution_end", "turn_end"])
    assert.ok(types.includes(type), `no ${type}`);
  const text = await client.getLastAssistantText();
  assert.ok(text.length > 20, "the agent said nothing");
  const bash = await client.bash("echo from bash");
  assert.equal(bash.output, "from bash\n");
  assert.equal(bash.exitCode, 0);
  await client.setSessionName("interop");
  assert.equal((await client.getState()).sessionName, "interop");
  const messages = await client.getMessages();
  assert.ok(messages.length >= 4);
  const fresh = await client.newSession();
  assert.equal(fresh.cancelled, false);
  assert.equal((await client.getMessages()).length, 0);
  console.log(`pi's RpcClient: ${events.length} events, ${messages.length} messages, "${text.slice(0, 60).replaceAll("\n", " ")}…"`);
} finally {
  await client.stop();
}
