import assert from "node:assert/strict";
import { test } from "node:test";

import { opal, pi } from "../../src/index.js";
import { FakeAgent, PATIENCE, settle, soon } from "../support/agent.js";
import { connected } from "../support/connected.js";

test("dialogs go to their handlers; without one the policy answers and a diagnostic reports it", async () => {
  const seen: unknown[] = [];
  const dialogs: pi.Dialogs = {
    select: (dialog) => dialog.options[1],
    confirm: async (dialog) => {
      seen.push(dialog);
      return true;
    },
    notify: (notice) => void seen.push(notice.message),
    input: () => {
      throw new Error("broken");
    },
  };
  const { client, agent, odd } = connected(pi.Client, { dialogs });
  const ask = (id: unknown, method: string, members: object): Promise<void> =>
    agent.send({ type: "extension_ui_request", id, method, ...members });
  await ask("1", "select", { title: "t", options: ["a", "b"] });
  assert.equal(await soon(agent.line()), '{"type":"extension_ui_response","id":"1","value":"b"}');
  await ask("2", "confirm", { title: "t", message: "m" });
  assert.equal(await soon(agent.line()), '{"type":"extension_ui_response","id":"2","confirmed":true}');
  await ask("3", "notify", { message: "n" });
  for (const [id, method] of [["4", "input"], ["5", "editor"], ["6", "dance"]]) {
    await ask(id, method ?? "", { title: "t" });
    assert.equal(await soon(agent.line()), `{"type":"extension_ui_response","id":"${id}","cancelled":true}`);
  }
  assert.deepEqual(seen, [{ title: "t", message: "m" }, "n"]);
  assert.deepEqual(odd.map((d) => d.kind === "dialog_by_policy" && d.method), ["input", "editor", "dance"]);
  await client.close();
});

test("a question is withdrawn when its own time limit has passed", async () => {
  const reasons: unknown[] = [];
  let answer: (value: string) => void = () => undefined;
  const dialogs: pi.Dialogs = {
    select: (_, { signal }) => {
      signal.addEventListener("abort", () => reasons.push((signal.reason as Error).name));
      return new Promise((resolve) => (answer = resolve));
    },
    input: ({ timeout }) => String(timeout),
  };
  const { client, agent, odd } = connected(pi.Client, { dialogs });
  await agent.send({ type: "extension_ui_request", id: "1", method: "select", title: "t", options: [], timeout: 5 });
  for (const deadline = Date.now() + PATIENCE; reasons.length === 0; await settle()) assert.ok(Date.now() < deadline);
  answer("late");
  await agent.send({ type: "extension_ui_request", id: "2", method: "input", title: "t", timeout: 60_000 });
  assert.equal(await soon(agent.line()), '{"type":"extension_ui_response","id":"2","value":"60000"}');
  assert.deepEqual([reasons, odd], [["TimeoutError"], []]);
  await client.close();
});

test("the id of a dialog comes back as it was written", async () => {
  const { agent } = connected(opal.Client, { dialogs: { askUser: () => "blue" } });
  await agent.send('{"jsonrpc":"2.0","id":12345678901234567890,"method":"client/ask_user","params":{"session_id":"s","question":"?"}}');
  assert.equal(await soon(agent.line()), '{"jsonrpc":"2.0","id":12345678901234567890,"result":{"answer":"blue"}}');
});

test("fm_F43 a hanging handler and a throwing tap block nothing", async () => {
  const agent = new FakeAgent();
  let told = 0;
  const client = new pi.Client(agent.transport, {
    dialogs: { select: () => new Promise<string>(() => undefined) },
    tap: {
      frame: () => {
        told++;
        throw new Error("broken");
      },
    },
  });
  await agent.send({ type: "extension_ui_request", id: "1", method: "select", title: "t", options: [] });
  const state = client.getState();
  await agent.answer(await soon(agent.expect("get_state")), { sessionId: "s" });
  assert.equal((await soon(state)).sessionId, "s");
  assert.equal(told, 1);
});
