import assert from "node:assert/strict";
import { test } from "node:test";

import { validate } from "../../src/check.js";
import { DecodeError, UNKNOWN, opal, pi } from "../../src/index.js";
import { failure, soon, update } from "../support/agent.js";
import { connected } from "../support/connected.js";

test("values that violate the declaration are reported and not delivered", async () => {
  const asked: unknown[] = [];
  const dialogs: pi.Dialogs = { confirm: (dialog) => void asked.push(dialog) };
  const { client, agent, odd } = connected(pi.Client, { validate, dialogs });
  const events = client.events()[Symbol.asyncIterator]();
  const state = failure(client.getState());
  await agent.answer(await soon(agent.expect("get_state")), { isStreaming: "no" });
  const error = await state;
  assert.ok(error instanceof DecodeError);
  assert.match(error.message, /^the answer to `get_state` does not fit its declaration: `\w+`: /);
  assert.match(error.raw, /"isStreaming":"no"/);
  await agent.send({ type: "tool_execution_start", toolCallId: 5 }, { type: "agent_start" }, { ...update("x"), message: 5 });
  assert.deepEqual((await soon(events.next())).value, { type: UNKNOWN, name: "tool_execution_start", value: { type: "tool_execution_start", toolCallId: 5 } });
  assert.equal((await soon(events.next())).value?.type, "agent_start");
  assert.equal((await soon(events.next())).value?.type, UNKNOWN);
  await agent.send({ type: "extension_ui_request", id: "1", method: "confirm", title: 5 });
  assert.equal(await soon(agent.line()), '{"type":"extension_ui_response","id":"1","cancelled":true}');
  assert.deepEqual(asked, []);
  assert.deepEqual(
    odd.map((found) => (found.kind === "invalid" ? `${found.what} ${found.name}` : found.kind)),
    ["answer get_state", "event tool_execution_start", "event message_update", "dialog confirm", "dialog_by_policy"],
  );
  // Undeclared commands are not checked, and null is data if the declaration allows it.
  const calls = [client.request("teleport"), client.cycleModel(), client.abort()];
  for (const name of ["teleport", "cycle_model", "abort"]) {
    await agent.answer(await soon(agent.expect(name)), name === "abort" ? undefined : null);
  }
  assert.deepEqual(await soon(Promise.all(calls)), [null, null, undefined]);
});

test("an event that violates its declaration does not change a run", async () => {
  const { client, agent } = connected(opal.Client, { validate });
  const starting = client.agentPrompt({ session_id: "s", text: "x" });
  await agent.send({ jsonrpc: "2.0", id: (await soon(agent.receive()))["id"], result: { queued: false } });
  const run = await soon(starting);
  await agent.send({ jsonrpc: "2.0", method: "agent/event", params: { type: "agent_start", session_id: "s" } });
  const types: string[] = [];
  const reading = (async () => { for await (const { type } of run) types.push(type); })();
  await agent.send({ jsonrpc: "2.0", method: "agent/event", params: { type: "status_update", session_id: "s", message: 5 } });
  await agent.send({ jsonrpc: "2.0", method: "agent/event", params: { type: "agent_abort", session_id: "s" } });
  await soon(reading);
  assert.deepEqual(types, ["agent_start", UNKNOWN, "agent_abort"]);
});
