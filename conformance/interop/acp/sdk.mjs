// Tests the reference agent with a client that uses the public API of ACP's own SDK: prompt, streaming, tool
// call, permission, cancel, load.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { place } from "./stage.mjs";

const { work, env, command, end } = await place();

/** Runs a program with an agent, and ends the agent. */
async function withAgent(program) {
  const agent = spawn(command[0], command.slice(1), { env, cwd: work, stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((done) => agent.once("exit", done));
  const updates = [];
  const questions = [];
  const client = acp
    .client({ name: "interop" })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      questions.push(params);
      return { outcome: { outcome: "selected", optionId: client.choice } };
    })
    .onNotification(acp.methods.client.session.update, ({ params }) => void updates.push(params.update));
  client.choice = "allow";
  const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  await client.connectWith(stream, async (agent) => {
    const initialized = await agent.request(acp.methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
    assert.equal(initialized.protocolVersion, acp.PROTOCOL_VERSION);
    assert.equal(initialized.agentCapabilities.loadSession, true);
    await program({ agent, updates, questions, client });
  });
  agent.stdin.end();
  assert.equal(await ended, 0, "the agent ends in good order");
}

const text = (updates, kind = "agent_message_chunk") =>
  updates.filter((update) => update.sessionUpdate === kind).map((update) => update.content.text).join("");
const say = (agent, sessionId, words) =>
  agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: words }] });

let sessionId;
await withAgent(async ({ agent, updates, questions, client }) => {
  ({ sessionId } = await agent.request(acp.methods.agent.session.new, { cwd: work, mcpServers: [] }));

  assert.deepEqual(await say(agent, sessionId, "run it"), { stopReason: "end_turn" });
  assert.equal(text(updates), "Let me run it. It ran.");
  assert.ok(updates.filter((update) => update.sessionUpdate === "agent_message_chunk").length > 2, "the answer came in pieces");
  assert.equal(questions[0].toolCall.kind, "execute");
  assert.ok(existsSync(join(work, "made")));
  assert.equal(updates.findLast((update) => update.sessionUpdate === "tool_call_update").status, "completed");

  client.choice = "reject";
  updates.length = 0;
  assert.deepEqual(await say(agent, sessionId, "run it"), { stopReason: "end_turn" });
  assert.equal(updates.findLast((update) => update.sessionUpdate === "tool_call_update").status, "failed");

  updates.length = 0;
  const turn = say(agent, sessionId, "hang");
  while (!text(updates)) await new Promise((done) => setImmediate(done));
  await agent.notify(acp.methods.agent.session.cancel, { sessionId });
  assert.deepEqual(await turn, { stopReason: "cancelled" });

  await assert.rejects(say(agent, "nobody", "hello"), (error) => error.code === -32002);
  await assert.rejects(agent.request("session/unheard_of", {}), (error) => error.code === -32601);
});

await withAgent(async ({ agent, updates }) => {
  const { sessions } = await agent.request(acp.methods.agent.session.list, { cwd: work });
  assert.deepEqual(sessions.map((session) => session.sessionId), [sessionId]);
  await agent.request(acp.methods.agent.session.load, { sessionId, cwd: work, mcpServers: [] });
  assert.equal(text(updates, "user_message_chunk"), "run itrun ithang");
  assert.ok(text(updates).startsWith("Let me run it. It ran."));
  assert.deepEqual(await say(agent, sessionId, "on"), { stopReason: "end_turn" });
  await agent.request(acp.methods.agent.session.delete, { sessionId });
  assert.deepEqual((await agent.request(acp.methods.agent.session.list, {})).sessions, []);
});

await end();
console.log("ok: the SDK's client: prompt, streaming, tool call, permission, rejection, cancel, list, load, delete");
