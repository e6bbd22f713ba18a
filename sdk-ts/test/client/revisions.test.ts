import assert from "node:assert/strict";
import { test } from "node:test";

import { NotInRevisionError, RefusedError, UsageError, omp, operator, pi } from "../../src/index.js";
import type { Diagnostic } from "../../src/tap.js";
import { failure, settle, soon } from "../support/agent.js";
import { connected } from "../support/connected.js";

for (const [data, wanted] of [[{ disposition: "started" }, "pi@1.5"], [undefined, "pi@0.55"]] as const) {
  test(`the first response that reveals the revision selects it: ${wanted}`, async () => {
    const { client, agent } = connected(pi.Client);
    const starting = client.prompt({ message: "go" });
    assert.equal(client.revision, undefined);
    await agent.answer(await soon(agent.expect("prompt")), data);
    await soon(starting);
    assert.equal(client.revision, wanted);
  });
}

test("a run of pi 1.5 ends when it has settled, without a state query", async () => {
  const { client, agent } = connected(pi.Client);
  const starting = client.prompt({ message: "go" });
  await agent.answer(await soon(agent.expect("prompt")), { disposition: "started" });
  const run = await soon(starting);
  await agent.send(
    { type: "agent_start" },
    { type: "agent_end", messages: [], willRetry: true },
    { type: "auto_retry_end", success: true, attempt: 1 },
    { type: "agent_end", messages: [], willRetry: false },
    { type: "agent_settled", aborted: false },
  );
  const types: string[] = [];
  for await (const event of run) types.push(event.type);
  assert.deepEqual(types, ["agent_start", "agent_end", "auto_retry_end", "agent_end", "agent_settled"]);
  assert.equal((await soon(run.result())).endedBy, "event");
});

test("a command that the named revision lacks is not sent", async () => {
  const { client, agent } = connected(pi.Client, { revision: "0.55" });
  const error = await failure(client.getTree());
  assert.ok(error instanceof NotInRevisionError && error.kind === "not_in_revision");
  assert.deepEqual([error.command, error.revision, error.known], ["get_tree", "pi@0.55", "pi@1.5, pi@1.6"]);
  const asking = client.getState();
  await agent.answer(await soon(agent.expect("get_state")), {});
  await soon(asking);
});

test("an unknown command of another revision is the same failure and names the revision", async () => {
  const { client, agent } = connected(pi.Client);
  const clearing = failure(client.clearQueue());
  await agent.reject(await soon(agent.expect("clear_queue")), "Unknown command: clear_queue");
  assert.ok((await soon(clearing)) instanceof NotInRevisionError);
  assert.equal(client.revision, "pi@0.55");
  assert.ok((await failure(client.getEntries())) instanceof NotInRevisionError);
  const asking = failure(client.getState());
  await agent.reject(await soon(agent.expect("get_state")), "Unknown command: get_state");
  assert.ok((await soon(asking)) instanceof RefusedError);
});

test("of revisions with the same frames the oldest is meant unless one is named", async () => {
  for (const [revision, wanted] of [[undefined, "pi@1.5"], ["pi@1.5", "pi@1.5"], ["pi@1.6", "pi@1.6"]] as const) {
    const told: Diagnostic[] = [];
    const tap = { diagnostic: (one: Diagnostic) => void told.push(one) };
    const { client, agent } = connected(pi.Client, revision === undefined ? { tap } : { revision, tap });
    await agent.send({ type: "agent_settled", aborted: false });
    await settle();
    assert.equal(client.revision, wanted);
    assert.deepEqual(told, []);
  }
});

test("a frame against the named revision is reported once", async () => {
  const told: Diagnostic[] = [];
  const { client, agent } = connected(pi.Client, { revision: "pi@0.55", tap: { diagnostic: (one: Diagnostic) => void told.push(one) } });
  await agent.send({ type: "agent_settled", aborted: false }, { type: "agent_settled", aborted: false });
  await settle();
  assert.deepEqual(told, [{ kind: "other_revision", named: "pi@0.55", seen: "pi@1.5" }]);
  assert.equal(client.revision, "pi@0.55");
});

test("the newest revision is named by latest, and an unknown one is refused with the known ones", async () => {
  assert.equal(connected(pi.Client, { revision: "latest" }).client.revision, "pi@1.6");
  assert.throws(() => connected(pi.Client, { revision: "9.9" }), (error) => error instanceof UsageError && /0\.55, 1\.5/.test(error.message));
  const { client, agent } = connected(omp.Client);
  await agent.send({ type: "ready" });
  await settle();
  assert.equal(client.revision, "omp@13.19");
});

test("a line that a live Operator would not read is not sent", async () => {
  const { client, agent, frames } = connected(operator.Client);
  const half = "y".repeat(40_000);
  const starting = client.prompt({ text: half });
  const prompt = await soon(agent.expect("prompt"));
  assert.deepEqual([prompt["text"], prompt["message"]], [half, undefined]);
  await agent.answer(prompt);
  await agent.send({ type: "agent_start" }, { type: "before_provider_request", options: { secret: "very-private" } }, { type: "settled" });
  const run = await soon(starting);
  await soon(run.result());
  assert.equal(client.revision, "operator@live");
  assert.ok(!frames.some((frame) => frame.includes("very-private")));
  const long = await failure(client.steer({ message: "x".repeat(70_000) }));
  assert.ok(long instanceof UsageError && /operator@live reads 65536 at most/.test(long.message), String(long));
  const steering = client.steer({ message: half });
  await agent.answer(await soon(agent.expect("steer")));
  await soon(steering);
});

test("an answer to a question that a live Operator would not read is not sent: the question is dismissed", async () => {
  const { client, agent, odd } = connected(operator.Client, { dialogs: { input: () => "x".repeat(70_000) } });
  await agent.send({ type: "save_point" }, { type: "extension_ui_request", id: "q1", method: "input", title: "Name?" });
  assert.equal(await soon(agent.line()), '{"type":"extension_ui_response","id":"q1","cancelled":true}');
  assert.ok(odd.some((one) => one.kind === "dialog_by_policy" && /operator@live reads 65536 at most/.test(String(one.error))));
  await client.close();
});
