import assert from "node:assert/strict";
import { test } from "node:test";

import { Termination, pi } from "../../src/index.js";
import { FakeAgent, failure, settle, soon } from "../support/agent.js";
import { connected } from "../support/connected.js";

test("the end settles every call, run, stream and dialog with one value", async () => {
  const { client, agent } = connected(pi.Client);
  const starting = client.prompt({ message: "x" });
  await soon(agent.accept());
  const run = await soon(starting);
  const events = client.events();
  const calls = [client.getState(), client.compact(), client.bash({ command: "x" })].map(failure);
  const reading = failure((async () => { for await (const _ of events); })());
  const result = failure(run.result());
  await settle();
  await agent.end();
  const end = await soon(client.terminated);
  assert.ok(end instanceof Termination && end.kind === "terminated" && end.reason === "end_of_stream");
  for (const error of [...(await Promise.all(calls)), await result, await reading]) assert.equal(error, end);
  assert.deepEqual(end.pending, ["req-2", "req-3", "req-4"]);
  assert.equal(await failure(client.getState()), end, "a call after the end fails at once");
  assert.equal(await failure(client.prompt({ message: "x" })), end);
  assert.throws(() => client.events(), end);
  assert.equal(await failure(client.sendRaw("{}")), end);
});

test("closing ends loops without an error, and can be done twice", async () => {
  const { client, agent } = connected(pi.Client);
  const events = client.events();
  const reading = (async () => { for await (const _ of events); })();
  const [one, two] = await soon(Promise.all([client.close(), client.close()]));
  assert.equal(one, two);
  assert.ok(one.isClosedByUs);
  await soon(reading);
  await assert.rejects(agent.line(), /closed its end/);
});

test("a client is closed at the end of its block", async () => {
  const agent = new FakeAgent();
  let kept: pi.Client;
  {
    await using client = new pi.Client(agent.transport);
    kept = client;
  }
  assert.equal((await soon(kept.terminated)).reason, "closed");
});
