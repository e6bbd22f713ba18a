import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

import { DetachedError, RefusedError, RunLimits, UsageError, omp, opal, operator, pi } from "../../src/index.js";
import { PATIENCE, failure, settle, soon, update } from "../support/agent.js";
import { connected } from "../support/connected.js";

test("a run gives its events, then its result", async () => {
  const { client, agent } = connected(pi.Client);
  const starting = client.prompt({ message: "hello" });
  const prompt = await soon(agent.accept());
  assert.equal(prompt["message"], "hello");
  const run = await soon(starting);
  const playing = agent.run("Hello");
  let text = "";
  for await (const event of run) {
    if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
      text += event.assistantMessageEvent.delta;
    }
  }
  await playing;
  const result = await soon(run.result());
  assert.equal(text, "Hello");
  assert.equal(result.endedBy, "event");
  assert.equal(result.last?.type, "agent_end");
});

test("fm_F56 events right after the prompt are not missed", async () => {
  const { client, agent } = connected(pi.Client);
  const starting = client.prompt({ message: "hello" });
  const prompt = await soon(agent.expect("prompt"));
  const frames = [
    { type: "agent_start" },
    { id: prompt["id"], type: "response", command: "prompt", success: true },
    update("early"),
    { type: "agent_end", messages: [] },
  ];
  await agent.sendBytes(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(""));
  await agent.answer(await soon(agent.expect("get_state")), { isStreaming: false });
  const types: string[] = [];
  for await (const event of await soon(starting)) types.push(event.type);
  assert.deepEqual(types, ["agent_start", "message_update", "agent_end"]);
});

test("the result of an unread run arrives despite a full queue", async () => {
  const { client, agent } = connected(pi.Client, { queueBytes: 100 });
  const starting = client.prompt({ message: "hello" });
  await soon(agent.accept());
  const run = await soon(starting);
  const result = soon(run.result());
  await soon(agent.run("x".repeat(1000)));
  assert.equal((await result).endedBy, "event");
  // A late reader receives the queued events, and then an error for the dropped ones.
  const types: string[] = [];
  const error = await failure((async () => { for await (const event of run) types.push(event.type); })());
  assert.deepEqual(types, ["agent_start", "turn_start", "agent_end"]);
  assert.ok(error instanceof DetachedError && error.dropped === 1 && run.dropped === 1, String(error));
});

test("the events of a run can be read after its result", async () => {
  const { client, agent } = connected(pi.Client);
  const starting = client.prompt({ message: "hello" });
  await soon(agent.accept());
  const run = await soon(starting);
  const result = run.result();
  await settle();
  await soon(agent.run("x".repeat(1000)));
  assert.equal((await soon(result)).confirmed, true);
  const types: string[] = [];
  for await (const event of run) types.push(event.type);
  assert.deepEqual(types, ["agent_start", "turn_start", "message_update", "agent_end"]);
  assert.equal(run.dropped, 0);
});

test("each reader of a run is given all events; one that comes later is refused", async () => {
  const { client, agent } = connected(pi.Client, { queueBytes: 2000 });
  const starting = client.prompt({ message: "hello" });
  await soon(agent.accept());
  await agent.send({ type: "agent_start" });
  await settle();
  const run = await soon(starting);
  const seen: string[][] = [[], [], [], []];
  const loop = async (into: string[]): Promise<void> => { for await (const event of run) into.push(event.type); };
  const raw = async (): Promise<void> => {
    for await (const { event } of run.withRaw()) {
      seen[1]?.push(event.type);
      await settle();
    }
  };
  const texts: string[] = [];
  const off = run.on("message_update", ({ message }) => void texts.push(message?.role ?? ""));
  run.on("message_update", () => off());
  const reading = [loop(seen[0] ?? []), raw(), run.forEach((event) => void seen[2]?.push(event.type))];
  const early = (async () => { for await (const event of run) { seen[3]?.push(event.type); break; } })();
  const playing = (async () => {
    for (let n = 0; n < 20; n++) await agent.send(update("x".repeat(500)));
    await agent.run("end");
  })();
  await soon(Promise.all([...reading, early, playing]));
  for (const types of seen.slice(0, 3)) {
    assert.equal(types.length, 25);
    assert.deepEqual(types, seen[0]);
  }
  assert.deepEqual(seen[3], ["agent_start"]);
  assert.deepEqual(texts, ["assistant"]);
  assert.throws(() => run[Symbol.asyncIterator](), UsageError);
  assert.ok((await failure(run.forEach(() => undefined))) instanceof UsageError);
});

test("a throwing listener is an unhandled rejection and receives no more events", async () => {
  const module = (name: string): string => JSON.stringify(new URL(`../../src/${name}.js`, import.meta.url).href);
  const code = `
    import { pi } from ${module("index")};
    import { memoryPair } from ${module("testing")};
    process.on("unhandledRejection", (error) => console.log(String(error)));
    const [ours, theirs] = memoryPair();
    const client = new pi.Client(ours);
    client.on("turn_start", () => { console.log("first"); throw new Error("broken"); });
    client.on("turn_start", () => console.log("second"));
    const writer = theirs.writable.getWriter();
    await writer.write(new TextEncoder().encode('{"type":"turn_start"}\\n{"type":"turn_start"}\\n'));
    await client.close();
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], { timeout: PATIENCE });
  assert.deepEqual(stdout.trim().split("\n").sort(), ["Error: broken", "first", "second", "second"]);
});

test("a mute agent holds no run: the state is queried once, with a timeout", async () => {
  const { client, agent } = connected(pi.Client, { timeout: 50 });
  const starting = client.prompt({ message: "hello" });
  await soon(agent.accept());
  const result = (await soon(starting)).result();
  await agent.send({ type: "agent_start" }, { type: "agent_end", messages: [] });
  await soon(agent.expect("get_state"));
  await agent.send({ type: "agent_end", messages: [] });
  assert.equal((await soon(result)).endedBy, "event");
  const next = client.request("next");
  await agent.answer(await soon(agent.expect("next")), "here");
  assert.equal(await soon(next), "here");
});

test("the end of a run is confirmed within the declared limit, or its result is unconfirmed", async () => {
  const { client, agent } = connected(pi.Client);
  const { limit } = pi.spec.runEnd.barrier ?? { limit: 0 };
  assert.ok(limit >= 1000 && limit <= 10_000, "a few seconds");
  const starting = client.prompt({ message: "hello" });
  await soon(agent.accept());
  const result = (await soon(starting)).result();
  await agent.send({ type: "agent_start" }, { type: "agent_end", messages: [] });
  await soon(agent.expect("get_state"));
  assert.deepEqual({ ...(await soon(result, limit + 5000)), last: null }, { endedBy: "event", last: null, confirmed: false, aborted: false, failure: undefined });
});

test("a signal stops the run, where that is asked for", async () => {
  const { client, agent } = connected(pi.Client);
  const stop = new AbortController();
  const starting = client.prompt({ message: "hello" }, { signal: stop.signal, abortRun: true });
  await soon(agent.accept());
  await agent.send({ type: "agent_start" });
  const run = await soon(starting);
  const types: string[] = [];
  const reading = failure((async () => { for await (const event of run) types.push(event.type); })());
  const reason = new Error("never mind");
  stop.abort(reason);
  const abort = await soon(agent.expect("abort"));
  await agent.send({ type: "agent_end", messages: [] });
  await agent.answer(abort);
  await agent.answer(await soon(agent.expect("get_state")), { isStreaming: false });
  assert.equal(await reading, reason);
  assert.equal(await failure(run.result()), reason);
  assert.deepEqual(types, ["agent_start", "agent_end"]);
  // An aborted signal fails the call before it is sent.
  assert.equal(await failure(client.prompt({ message: "x" }, { signal: stop.signal, abortRun: true })), reason);

  // A call fails in time even if the agent ignores the abort, or does not answer the prompt.
  for (const obeys of [true, false]) {
    const again = new AbortController();
    const prompt = failure(client.prompt({ message: "x" }, { signal: again.signal, abortRun: true }));
    await soon(agent.expect("prompt"));
    again.abort(reason);
    const told = await soon(agent.expect("abort"));
    if (obeys) await agent.answer(told);
    else await agent.reject(told, "no");
    assert.equal(await prompt, reason);
  }
});

test("a signal stops a run of operator, and one of a session", async () => {
  const stop = new AbortController();
  const reason = new Error("never mind");
  const one = connected(operator.Client);
  const run = await soon(one.client.prompt({ text: "hello" }, { signal: stop.signal, abortRun: true }));
  const prompt = await soon(one.agent.expect("prompt"));
  const two = connected(opal.Client);
  const starting = two.client.agentPrompt({ session_id: "a", text: "x" }, { signal: stop.signal, abortRun: true });
  await two.agent.send({ jsonrpc: "2.0", id: (await soon(two.agent.receive()))["id"], result: { queued: false } });
  const other = await soon(starting);
  stop.abort(reason);
  await one.agent.answer(await soon(one.agent.expect("abort")), {});
  await one.agent.answer(prompt, {});
  assert.equal(await failure(run.result()), reason);
  const abort = await soon(two.agent.expect("agent/abort"));
  assert.deepEqual(abort["params"], { session_id: "a" });
  await two.agent.send({ jsonrpc: "2.0", id: abort["id"], result: {} });
  await two.agent.send({ jsonrpc: "2.0", method: "agent/event", params: { type: "agent_abort", session_id: "a" } });
  assert.equal(await failure(other.result()), reason);
});

test("the result can be awaited beside a loop or in it", async () => {
  const { client, agent } = connected(pi.Client);
  const starting = client.prompt({ message: "hello" });
  await soon(agent.accept());
  const run = await soon(starting);
  const order: string[] = [];
  const beside = run.result().then(() => order.push("result"));
  const loop = (async () => {
    for await (const event of run) {
      await settle();
      order.push(event.type);
    }
  })();
  await soon(agent.run("Hello"));
  await soon(Promise.all([beside, loop]));
  assert.deepEqual(order, ["agent_start", "turn_start", "message_update", "agent_end", "result"]);

  const again = client.prompt({ message: "again" });
  await soon(agent.accept());
  const second = await soon(again);
  const playing = agent.run("Hello");
  for await (const _event of second) {
    assert.equal((await soon(second.result())).endedBy, "event");
    break;
  }
  await playing;
});

test("leaving a loop only unsubscribes", async () => {
  const { client, agent } = connected(pi.Client, { queueBytes: 200 });
  const starting = client.prompt({ message: "hello" });
  await soon(agent.accept());
  const run = await soon(starting);
  const playing = agent.run("x".repeat(1000));
  for await (const _event of run) break;
  assert.equal((await soon(run.result())).endedBy, "event");
  await playing;
  assert.ok(run.dropped > 0);
});

test("a listener receives every event; a throwing one receives no more", async () => {
  const { client, agent } = connected(pi.Client);
  const first = client.prompt({ message: "hello" });
  await soon(agent.accept());
  await agent.send({ type: "agent_start" });
  const run = await soon(first);
  await settle();
  const types: string[] = [];
  const done = run.forEach((event, raw) => void types.push(`${event.type} ${raw.length > 0}`));
  await soon(agent.run("Hello"));
  await soon(done);
  assert.equal(types.length, 5);
  assert.equal(types[0], "agent_start true");
  assert.equal((await soon(run.result())).endedBy, "event");

  const broken = failure(client.events().forEach(() => { throw new Error("broken"); }));
  const others: string[] = [];
  const listening = client.events().forEach((event) => void others.push(event.type));
  await agent.send({ type: "agent_start" }, { type: "turn_start" });
  assert.match(String(await broken), /broken/);
  await settle();
  assert.deepEqual(others, ["agent_start", "turn_start"]);
  await client.close();
  await soon(listening);
});

test("a refused prompt is thrown; a late failure is the run's", async () => {
  const { client, agent } = connected(omp.Client);
  const refused = client.prompt({ message: "x" });
  await agent.reject(await soon(agent.expect("prompt")), "no model");
  assert.match(String(await failure(refused)), /no model/);
  const starting = client.prompt({ message: "y" });
  const prompt = await soon(agent.accept());
  const run = await soon(starting);
  await agent.reject(prompt, "it failed later");
  const error = await failure(run.result());
  assert.ok(error instanceof RefusedError && !error.attributed);
  assert.equal(await failure((async () => { for await (const _ of run); })()), error);
});

test("operator's prompt gives its run at once; its answer ends it", async () => {
  const { client, agent } = connected(operator.Client);
  const run = await soon(client.prompt({ text: "hello" }));
  const prompt = await soon(agent.expect("prompt"));
  await agent.send({ type: "event", event: { type: "agent_start" } }, { type: "event", event: { type: "agent_end" } });
  await agent.answer(prompt, {});
  const types: string[] = [];
  for await (const event of run) types.push(event.type);
  assert.deepEqual(types, ["agent_start", "agent_end"]);
  assert.equal((await soon(run.result())).endedBy, "answer");
  const busy = await soon(client.prompt({ text: "hello" }));
  await agent.reject(await soon(agent.expect("prompt")), "Agent is busy");
  assert.match(String(await failure(busy.result())), /Agent is busy/);
});

test("runs of two sessions receive their own events", async () => {
  const { client, agent } = connected(opal.Client);
  const runs: opal.Run[] = [];
  for (const session_id of ["a", "b"]) {
    const starting = client.agentPrompt({ session_id, text: "x" });
    await agent.send({ jsonrpc: "2.0", id: (await soon(agent.receive()))["id"], result: { queued: false } });
    runs.push(await soon(starting));
  }
  const event = (session_id: string, type: string): object => ({ jsonrpc: "2.0", method: "agent/event", params: { type, session_id } });
  await agent.send(event("b", "agent_start"), event("a", "agent_start"), event("a", "agent_end"), event("b", "agent_abort"));
  for (const [at, last] of ["agent_end", "agent_abort"].entries()) {
    const run = runs[at];
    assert.ok(run !== undefined);
    assert.deepEqual(run.answer, { queued: false });
    const types: string[] = [];
    for await (const found of run) types.push(found.type);
    assert.deepEqual(types, ["agent_start", last]);
  }
});

test("a run is steered, followed up and stopped by its handle", async () => {
  const { client, agent } = connected(pi.Client);
  const starting = client.prompt({ message: "x" });
  await soon(agent.accept());
  const run = await soon(starting);
  for (const [call, command] of [
    [run.steer({ message: "left" }), "steer"],
    [run.followUp({ message: "then" }), "follow_up"],
    [run.abort(), "abort"],
  ] as const) {
    await agent.answer(await soon(agent.expect(command)));
    await soon<unknown>(call);
  }
});

test("a run that reaches a limit is stopped, and fails with the limit's name", async () => {
  const { client, agent } = connected(pi.Client);
  const starting = client.prompt({ message: "go" }, { limits: new RunLimits({ maxTurns: 2 }) });
  await soon(agent.accept());
  const run = await soon(starting);
  for (const type of ["agent_start", "turn_start", "turn_start"]) await agent.send({ type });
  await agent.send({ type: "turn_start" });
  const abort = await soon(agent.expect("abort"));
  await agent.send({ type: "agent_end", messages: [] });
  await agent.answer(abort);
  await agent.answer(await soon(agent.expect("get_state")), { isStreaming: false });
  const result = await soon(run.wait());
  const { failure: found } = result;
  assert.deepEqual([found?.code, found?.isRetryable, result.aborted], ["max_turns", false, false]);
  assert.equal(found?.message, "the run was stopped: it has had 2 turns, which is its limit");
  assert.equal(await failure(run.result()), found);
  // The next run has no limits.
  const next = client.prompt({ message: "again" });
  await soon(agent.accept());
  const playing = agent.run("Hello");
  await playing;
  assert.equal((await soon((await next).result())).endedBy, "event");
});

test("time stops a run, also one of an agent that does not obey", async () => {
  for (const obeys of [true, false]) {
    const { client, agent } = connected(pi.Client);
    const starting = client.prompt({ message: "go" }, { limits: new RunLimits({ maxTime: 20 }) });
    await soon(agent.accept());
    const run = await soon(starting);
    await agent.send({ type: "agent_start" });
    const abort = await soon(agent.expect("abort"));
    if (obeys) {
      await agent.send({ type: "agent_end", messages: [] });
      await agent.answer(abort);
      await agent.answer(await soon(agent.expect("get_state")), { isStreaming: false });
    } else await agent.reject(abort, "no");
    const { failure: found } = await soon(run.wait());
    assert.deepEqual([found?.code, found?.message], ["max_time", "the run was stopped: it has lasted 0.02 s, which is its limit"]);
  }
});

test("a limit stops a run of operator, whose answer is its end, and one of a session", async () => {
  const one = connected(operator.Client);
  const run = await soon(one.client.prompt({ text: "go" }, { limits: new RunLimits({ maxTurns: 0 }) }));
  const prompt = await soon(one.agent.expect("prompt"));
  await one.agent.send({ type: "event", event: { type: "turn_start", turn_index: 0, timestamp: 0 } });
  await one.agent.answer(await soon(one.agent.expect("abort")), {});
  await one.agent.reject(prompt, "aborted");
  assert.equal((await soon(run.wait())).failure?.code, "max_turns");

  const two = connected(opal.Client);
  const starting = two.client.agentPrompt({ session_id: "a", text: "x" }, { limits: new RunLimits({ maxTurns: 1 }) });
  await two.agent.send({ jsonrpc: "2.0", id: (await soon(two.agent.receive()))["id"], result: { queued: false } });
  const other = await soon(starting);
  // Turns of another session do not count towards the limit of this run.
  for (const session_id of ["a", "b", "b", "a"]) {
    await two.agent.send({ jsonrpc: "2.0", method: "agent/event", params: { type: "message_start", session_id } });
  }
  const abort = await soon(two.agent.expect("agent/abort"));
  assert.deepEqual(abort["params"], { session_id: "a" });
  await two.agent.send({ jsonrpc: "2.0", id: abort["id"], result: {} });
  await two.agent.send({ jsonrpc: "2.0", method: "agent/event", params: { type: "agent_abort", session_id: "a" } });
  assert.equal((await soon(other.wait())).failure?.code, "max_turns");
  const refused = await failure(two.client.agentPrompt({ session_id: "a", text: "x" }, { limits: new RunLimits({ maxCost: 1 }) }));
  assert.ok(refused instanceof UsageError, String(refused));
});
