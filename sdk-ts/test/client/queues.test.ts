import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { DetachedError, StalledError, opal, pi } from "../../src/index.js";
import { PATIENCE, failure, settle, soon, update } from "../support/agent.js";
import { connected } from "../support/connected.js";

test("streams that are dropped hold up nothing", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { client, agent } = connected(pi.Client, { queueBytes: 100 });
  await (async () => {
    client.events();
    const starting = client.prompt({ message: "x" });
    await soon(agent.accept());
    await soon(starting);
  })();
  const flood = (async () => {
    for (let n = 0; n < 5; n++) await agent.send(update("x".repeat(100)));
  })();
  const state = client.getState();
  const answering = (async () => agent.answer(await agent.expect("get_state"), { sessionId: "s" }))();
  let answered = false;
  void state.then(() => (answered = true));
  for (const deadline = Date.now() + PATIENCE; !answered; collect()) {
    assert.ok(Date.now() < deadline, "the reader is held up");
    await settle();
  }
  await soon(Promise.all([flood, answering]));
});

test("events before the answer to a prompt do not block the reader", async () => {
  const { client, agent } = connected(pi.Client, { queueBytes: 100 });
  const starting = client.prompt({ message: "x" });
  const asked = await soon(agent.expect("prompt"));
  for (let n = 0; n < 5; n++) await soon(agent.send(update(`${n}${"x".repeat(100)}`)));
  await soon(agent.answer(asked));
  const run = await soon(starting);
  const taken: string[] = [];
  for await (const event of run) {
    taken.push(event.type);
    if (taken.length === 5) break;
  }
  assert.equal(run.dropped, 0);
  assert.deepEqual(taken, Array(5).fill("message_update"));
});

test("block: a subscriber that does not read stops the reader, and calls fail with the reason", async () => {
  const { client, agent } = connected(pi.Client, { queueBytes: 50 });
  const events = client.events();
  const flood = (async () => {
    for (let n = 0; n < 3; n++) await agent.send(update("x".repeat(50)));
  })();
  const error = await failure(client.getState({ timeout: 20 }));
  assert.ok(error instanceof StalledError && error.isRetryable, String(error));
  const iterator = events[Symbol.asyncIterator]();
  for (let n = 0; n < 3; n++) assert.equal((await soon(iterator.next())).done, false);
  await soon(flood);
  const state = client.getState();
  await soon(agent.expect("get_state"));
  await agent.answer(await soon(agent.expect("get_state")), { sessionId: "s" });
  assert.equal((await soon(state)).sessionId, "s");
});

test("coalesce: only the last of waiting snapshots is kept", async () => {
  const { client, agent } = connected(pi.Client, { queueBytes: 300, overflow: "coalesce" });
  const events = client.events();
  for (let n = 0; n < 10; n++) await agent.send(update(`${n}`.repeat(50)));
  await settle();
  const deltas: string[] = [];
  const state = client.getState();
  await agent.answer(await soon(agent.expect("get_state")), {});
  await soon(state);
  await client.close();
  for await (const event of events) {
    const kind = event.type === "message_update" ? event.assistantMessageEvent : undefined;
    if (kind?.type === "text_delta") deltas.push(kind.delta.slice(0, 1));
  }
  assert.ok(deltas.length < 10 && deltas.at(-1) === "9", deltas.join());
});

test("coalesce: a snapshot takes the place of one of its own session only", async () => {
  const { client, agent } = connected(opal.Client, { queueBytes: 150, overflow: "coalesce" });
  const events = client.events()[Symbol.asyncIterator]();
  const messages = ["one of a", "two of a", "one of b", "two of b"];
  const frames = messages.map((message) => ({
    jsonrpc: "2.0",
    method: "agent/event",
    params: { type: "status_update", session_id: message.slice(-1), message },
  }));
  const saying = agent.send(...frames);
  await settle();
  const seen: string[] = [];
  while (seen.at(-1) !== "two of b") {
    const { value } = await soon(events.next());
    assert.ok(value?.type === "status_update");
    seen.push(value.message);
  }
  assert.deepEqual(seen.filter((message) => message.startsWith("two")), ["two of a", "two of b"]);
  await soon(saying);
  await client.close();
});

test("detach: a slow subscriber is cut off, the others are not", async () => {
  const { client, agent } = connected(pi.Client, { queueBytes: 300, overflow: "detach" });
  const slow = client.events();
  const fast = client.events();
  let seen = 0;
  const reading = (async () => {
    for await (const _event of fast) if (++seen === 10) return;
  })();
  for (let n = 0; n < 10; n++) {
    await agent.send(update("x".repeat(50)));
    await settle();
  }
  await soon(reading);
  const error = await failure((async () => { for await (const _ of slow); })());
  assert.ok(error instanceof DetachedError && error.dropped > 0);
  await client.close();
});

test("events without a subscriber are counted", async () => {
  const { client, agent } = connected(pi.Client);
  await agent.send({ type: "agent_start" }, { type: "agent_start" });
  const state = client.getState();
  await agent.answer(await soon(agent.expect("get_state")), {});
  await soon(state);
  assert.equal(client.droppedEvents, 2);
});
