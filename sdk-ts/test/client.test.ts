import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import {
  DetachedError,
  type Diagnostic,
  RefusedError,
  StalledError,
  Termination,
  TimedOutError,
  UNKNOWN,
  UsageError,
  omp,
  opal,
  operator,
  pi,
} from "../src/index.js";
import { FakeAgent, failure, settle, soon, update } from "./support/agent.js";

/** A client with its agent, and what its tap is told. */
function connected<C>(
  make: new (transport: FakeAgent["transport"], options: never) => C,
  options: object = {},
): { client: C; agent: FakeAgent; odd: Diagnostic[]; frames: string[] } {
  const agent = new FakeAgent();
  const odd: Diagnostic[] = [];
  const frames: string[] = [];
  const tap = {
    diagnostic: (diagnostic: Diagnostic) => void odd.push(diagnostic),
    frame: (direction: string, text: string) => void frames.push(`${direction} ${text}`),
  };
  const client = new make(agent.transport, { tap, ...options } as never);
  return { client, agent, odd, frames };
}

test("a call is answered with its data, and its line is as declared", async () => {
  const { client, agent } = connected(pi.Client);
  const text = client.getLastAssistantText();
  const line = await soon(agent.line());
  assert.equal(line, '{"id":"req-1","type":"get_last_assistant_text"}');
  await agent.answer(JSON.parse(line) as never, { text: "hello" });
  assert.deepEqual(await soon(text), { text: "hello" });
  const nothing = client.setSessionName({ name: "x\u2028" });
  await agent.answer(await agent.expect("set_session_name"));
  assert.equal(await soon(nothing), undefined);
  const cycled = client.cycleModel();
  await agent.answer(await agent.expect("cycle_model"), null);
  assert.equal(await soon(cycled), null);
});

test("a JSON-RPC call", async () => {
  const { client, agent } = connected(opal.Client);
  const state = client.agentState({ session_id: "s" });
  assert.equal(await soon(agent.line()), '{"jsonrpc":"2.0","id":1,"method":"agent/state","params":{"session_id":"s"}}');
  await agent.say({ jsonrpc: "2.0", id: 1, error: { code: -32602, message: "Session not found", data: { a: 1 } } });
  const error = await failure(state);
  assert.ok(error instanceof RefusedError);
  assert.deepEqual([error.code, error.reason, error.data, error.command], [-32602, "Session not found", { a: 1 }, "agent/state"]);
});

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

test("fm_F56 what follows the prompt at once is not missed", async () => {
  const { client, agent } = connected(pi.Client);
  const starting = client.prompt({ message: "hello" });
  const prompt = await soon(agent.expect("prompt"));
  const frames = [
    { type: "agent_start" },
    { id: prompt["id"], type: "response", command: "prompt", success: true },
    update("early"),
    { type: "agent_end", messages: [] },
  ];
  await agent.sayBytes(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(""));
  await agent.answer(await soon(agent.expect("get_state")), { isStreaming: false });
  const types: string[] = [];
  for await (const event of await soon(starting)) types.push(event.type);
  assert.deepEqual(types, ["agent_start", "message_update", "agent_end"]);
});

test("the result of a run that nobody reads comes, and never hangs on a full queue", async () => {
  const { client, agent } = connected(pi.Client, { queueBytes: 100 });
  const starting = client.prompt({ message: "hello" });
  await soon(agent.accept());
  const result = soon((await soon(starting)).result());
  await soon(agent.run("x".repeat(1000)));
  assert.equal((await result).endedBy, "event");
});

test("the result can be asked for beside a loop, or in it", async () => {
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

test("leaving a loop stops listening, and nothing else", async () => {
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

test("a listener gets every event as it comes; one that throws gets nothing more", async () => {
  const { client, agent } = connected(pi.Client);
  const first = client.prompt({ message: "hello" });
  await soon(agent.accept());
  await agent.say({ type: "agent_start" });
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
  await agent.say({ type: "agent_start" }, { type: "turn_start" });
  assert.match(String(await broken), /broken/);
  await settle();
  assert.deepEqual(others, ["agent_start", "turn_start"]);
  await client.close();
  await soon(listening);
});

test("fm_F20 an event that is not declared comes as unknown, with its line", async () => {
  const { client, agent, odd } = connected(pi.Client);
  const events = client.events();
  const line = '{"type":"weather" ,"sky":"blue","n":1.0}';
  await agent.say(line);
  const { value } = await soon(events.withRaw().next());
  assert.deepEqual(value, { event: { type: UNKNOWN, name: "weather", value: { type: "weather", sky: "blue", n: 1 } }, raw: line });
  assert.deepEqual(odd, [{ kind: "unknown_frame", type: "weather" }]);
  // A value outside an open set is nothing special.
  await agent.say({ ...update("x"), assistantMessageEvent: { type: "sparkle", n: 1 } });
  const next = await soon(events[Symbol.asyncIterator]().next());
  assert.equal((next.value as { assistantMessageEvent: { type: string } }).assistantMessageEvent.type, "sparkle");
});

test("fm_F23 foreign text is told and skipped", async () => {
  const { client, agent, odd } = connected(pi.Client);
  const state = client.getState();
  const command = await soon(agent.expect("get_state"));
  await agent.say("(node:12) Warning: sk-ant-0123456789abcdefghij", '"sk-ant-0123456789abcdefghij"', "[]", "{", "", "  ");
  await agent.sayBytes(new Uint8Array([0xff, 0x0a]));
  await agent.answer(command, { sessionId: "s" });
  assert.equal((await soon(state)).sessionId, "s");
  assert.deepEqual(odd.map((diagnostic) => diagnostic.kind), ["noise", "noise", "noise", "noise", "framing"]);
  assert.ok(!JSON.stringify(odd[1]).includes("0123456789"));
});

test("fm_F23 a line that only begins like an event is told and skipped", async () => {
  const { client, agent, odd } = connected(pi.Client);
  const events = client.events()[Symbol.asyncIterator]();
  const waiting = events.next();
  await agent.say('{"type":"message_update", broken}', '{"type":"message_update","x":}', update("one"));
  assert.equal((await soon(waiting)).value?.type, "message_update");
  await agent.say('{"type":"turn_end" broken}', '{"type":"message_end",}', update("two"));
  const state = client.getState();
  await agent.answer(await soon(agent.expect("get_state")), {});
  await soon(state);
  assert.equal((await soon(events.next())).value?.type, "message_update");
  assert.deepEqual(odd.map(({ kind }) => kind), ["noise", "noise", "noise", "noise"]);
});

test("fm_F17 of two types the last counts, however an event begins", async () => {
  const { client, agent } = connected(pi.Client);
  const events = client.events()[Symbol.asyncIterator]();
  await agent.say('{"type":"message_update","type":"turn_start"}', '{"type":"message_update","type":"weather"}');
  assert.equal((await soon(events.next())).value?.type, "turn_start");
  assert.equal((await soon(events.next())).value?.type, UNKNOWN);
});

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
    for (let n = 0; n < 5; n++) await agent.say(update("x".repeat(100)));
  })();
  const state = client.getState();
  const answering = (async () => agent.answer(await agent.expect("get_state"), { sessionId: "s" }))();
  let answered = false;
  void state.then(() => (answered = true));
  for (const deadline = Date.now() + 5000; !answered; collect()) {
    assert.ok(Date.now() < deadline, "the reader is held up");
    await settle();
  }
  await soon(Promise.all([flood, answering]));
});

test("fm_F14 fm_F12 an endless line is told and skipped", async () => {
  const { client, agent, odd } = connected(pi.Client, { maxLine: 1000 });
  const text = client.getLastAssistantText();
  const command = await soon(agent.expect("get_last_assistant_text"));
  for (let piece = 0; piece < 50; piece++) await agent.sayBytes("x".repeat(100));
  await agent.sayBytes("\n");
  await agent.answer(command, { text: null });
  assert.deepEqual(await soon(text), { text: null });
  assert.equal(odd.length, 1);
});

test("fm_F13 large frames arrive", async () => {
  const { client, agent } = connected(pi.Client);
  for (const mebibytes of [1, 16]) {
    const text = client.getLastAssistantText();
    const command = await soon(agent.expect("get_last_assistant_text"));
    const data = { text: "ä".repeat(mebibytes * 512 * 1024) };
    await agent.answer(command, data);
    assert.ok((await soon(text)).text === data.text);
  }
});

test("fm_F36 a mute agent: the call fails in time, and the late answer is dropped", async () => {
  const { client, agent, odd } = connected(pi.Client);
  const late = client.getState({ timeout: 5 });
  const error = await failure(late);
  assert.ok(error instanceof TimedOutError && error.command === "get_state" && error.after === 5 && error.isRetryable);
  const command = await soon(agent.expect("get_state"));
  await agent.answer(command, { sessionId: "late" });
  const next = client.getState();
  await agent.answer(await soon(agent.expect("get_state")), { sessionId: "next" });
  assert.equal((await soon(next)).sessionId, "next");
  assert.deepEqual(odd, [{ kind: "unmatched_answer", id: "req-1", command: "get_state" }]);
});

test("the limit of all calls can be set, and commands without one have none", async () => {
  const { client } = connected(pi.Client, { timeout: 5 });
  assert.ok((await failure(client.getState())) instanceof TimedOutError);
  assert.ok((await failure(client.prompt({ message: "x" }))) instanceof TimedOutError);
  const other = connected(pi.Client);
  let settled = false;
  other.client.compact().catch(() => undefined).finally(() => (settled = true));
  await soon(other.agent.expect("compact"));
  await settle();
  assert.equal(settled, false);
  await other.client.close();
});

test("fm_F37 answers with an unknown, missing or second id resolve nothing wrongly", async () => {
  const { client, agent, odd } = connected(pi.Client);
  const first = client.getState();
  const second = client.getState();
  const [one, two] = [await soon(agent.hear()), await soon(agent.hear())];
  await agent.answer({ ...one, id: "never" }, { sessionId: "wrong" });
  await agent.answer({ type: "get_state" }, { sessionId: "wrong" });
  await agent.answer(two, { sessionId: "two" });
  await agent.answer(two, { sessionId: "again" });
  await agent.answer(one, { sessionId: "one" });
  assert.deepEqual([(await soon(first)).sessionId, (await soon(second)).sessionId], ["one", "two"]);
  assert.deepEqual(odd.map(({ kind }) => kind), ["unmatched_answer", "unmatched_answer", "unmatched_answer"]);
});

test("a failure without id belongs to the oldest call that it can, and says so", async () => {
  const { client, agent } = connected(omp.Client);
  const first = client.bash({ command: "false" });
  const second = client.compact();
  const third = client.bash({ command: "true" });
  await agent.say({ type: "response", command: "compact", success: false, error: "Already compacted" });
  const error = await failure(second);
  assert.ok(error instanceof RefusedError && error.attributed && error.command === "compact");
  await agent.say({ type: "response", command: "parse", success: false, error: "Failed to parse command: x" });
  const parse = await failure(first);
  assert.ok(parse instanceof RefusedError && parse.attributed && parse.command === "bash");
  assert.match(parse.message, /^`bash` failed: Failed to parse/);
  await agent.say({ type: "response", command: "bash", success: false, error: "no" });
  await failure(third);
});

test("a refused prompt is thrown; a late failure is the run's", async () => {
  const { client, agent } = connected(omp.Client);
  const refused = client.prompt({ message: "x" });
  await agent.refuse(await soon(agent.expect("prompt")), "no model");
  assert.match(String(await failure(refused)), /no model/);
  const starting = client.prompt({ message: "y" });
  const prompt = await soon(agent.accept());
  const run = await soon(starting);
  await agent.refuse(prompt, "it failed later");
  const error = await failure(run.result());
  assert.ok(error instanceof RefusedError && !error.attributed);
  assert.equal(await failure((async () => { for await (const _ of run); })()), error);
});

test("operator's prompt gives its run at once; its answer ends it", async () => {
  const { client, agent } = connected(operator.Client);
  const run = await soon(client.prompt({ text: "hello" }));
  const prompt = await soon(agent.expect("prompt"));
  await agent.say({ type: "event", event: { type: "agent_start" } }, { type: "event", event: { type: "agent_end" } });
  await agent.answer(prompt, {});
  const types: string[] = [];
  for await (const event of run) types.push(event.type);
  assert.deepEqual(types, ["agent_start", "agent_end"]);
  assert.equal((await soon(run.result())).endedBy, "answer");
  const busy = await soon(client.prompt({ text: "hello" }));
  await agent.refuse(await soon(agent.expect("prompt")), "Agent is busy");
  assert.match(String(await failure(busy.result())), /Agent is busy/);
});

test("runs of two sessions hear their own events", async () => {
  const { client, agent } = connected(opal.Client);
  const runs: opal.Run[] = [];
  for (const session_id of ["a", "b"]) {
    const starting = client.agentPrompt({ session_id, text: "x" });
    await agent.say({ jsonrpc: "2.0", id: (await soon(agent.hear()))["id"], result: { queued: false } });
    runs.push(await soon(starting));
  }
  const event = (session_id: string, type: string): object => ({ jsonrpc: "2.0", method: "agent/event", params: { type, session_id } });
  await agent.say(event("b", "agent_start"), event("a", "agent_start"), event("a", "agent_end"), event("b", "agent_abort"));
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
    await soon(call);
  }
});

test("a signal gives up a call, and a run", async () => {
  const { client, agent, odd } = connected(pi.Client);
  const abort = new AbortController();
  const call = client.getState({ signal: abort.signal });
  const command = await soon(agent.expect("get_state"));
  const reason = new Error("never mind");
  abort.abort(reason);
  assert.equal(await failure(call), reason);
  await agent.answer(command, {});
  assert.equal(await failure(client.getState({ signal: abort.signal })), reason);
  const stop = new AbortController();
  const starting = client.prompt({ message: "x" }, { signal: stop.signal });
  await soon(agent.accept());
  const run = await soon(starting);
  stop.abort(reason);
  assert.equal(await failure(run.result()), reason);
  assert.deepEqual(odd.map(({ kind }) => kind), ["unmatched_answer"]);
});

test("dialogs go to their handlers; without one the policy answers and says so", async () => {
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
    agent.say({ type: "extension_ui_request", id, method, ...members });
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

test("the id of a dialog comes back as it was written", async () => {
  const { agent } = connected(opal.Client, { dialogs: { askUser: () => "blue" } });
  await agent.say('{"jsonrpc":"2.0","id":12345678901234567890,"method":"client/ask_user","params":{"session_id":"s","question":"?"}}');
  assert.equal(await soon(agent.line()), '{"jsonrpc":"2.0","id":12345678901234567890,"result":{"answer":"blue"}}');
});

test("fm_F43 a handler that never answers and a tap that throws hold up nothing", async () => {
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
  await agent.say({ type: "extension_ui_request", id: "1", method: "select", title: "t", options: [] });
  const state = client.getState();
  await agent.answer(await soon(agent.expect("get_state")), { sessionId: "s" });
  assert.equal((await soon(state)).sessionId, "s");
  assert.equal(told, 1);
});

test("the tap sees every frame, keys redacted", async () => {
  const { client, agent, frames } = connected(opal.Client);
  const set = client.authSetKey({ provider: "anthropic", api_key: "very-secret" });
  await agent.say({ jsonrpc: "2.0", id: (await soon(agent.hear()))["id"], result: { ok: true } });
  await soon(set);
  assert.equal(frames.length, 2);
  assert.ok(frames[0]?.startsWith("sent") && frames[0].includes("[redacted]") && !frames[0].includes("very-secret"));
  assert.ok(frames[1]?.startsWith("received"));
});

test("block: a subscriber that does not read stops the reader, and calls say so", async () => {
  const { client, agent } = connected(pi.Client, { queueBytes: 50 });
  const events = client.events();
  const flood = (async () => {
    for (let n = 0; n < 3; n++) await agent.say(update("x".repeat(50)));
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
  for (let n = 0; n < 10; n++) await agent.say(update(`${n}`.repeat(50)));
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

test("detach: a slow subscriber is cut off, the others are not", async () => {
  const { client, agent } = connected(pi.Client, { queueBytes: 300, overflow: "detach" });
  const slow = client.events();
  const fast = client.events();
  let seen = 0;
  const reading = (async () => {
    for await (const _event of fast) if (++seen === 10) return;
  })();
  for (let n = 0; n < 10; n++) {
    await agent.say(update("x".repeat(50)));
    await settle();
  }
  await soon(reading);
  const error = await failure((async () => { for await (const _ of slow); })());
  assert.ok(error instanceof DetachedError && error.dropped > 0);
  await client.close();
});

test("events that nobody listens to are counted", async () => {
  const { client, agent } = connected(pi.Client);
  await agent.say({ type: "agent_start" }, { type: "agent_start" });
  const state = client.getState();
  await agent.answer(await soon(agent.expect("get_state")), {});
  await soon(state);
  assert.equal(client.droppedEvents, 2);
});

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
  assert.throws(() => client.sendRaw("{}"), end);
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

test("what is not declared can be sent too", async () => {
  const { client, agent } = connected(pi.Client);
  const answer = client.request("teleport", { to: "mars" });
  const command = await soon(agent.expect("teleport"));
  assert.equal(command["to"], "mars");
  await agent.answer(command, { there: true });
  assert.deepEqual(await soon(answer), { there: true });
  client.sendRaw('{"type": "odd"}');
  assert.equal(await soon(agent.line()), '{"type": "odd"}');
  assert.throws(() => client.sendRaw("a\nb"), UsageError);
  const circle: { self?: unknown } = {};
  circle.self = circle;
  assert.ok((await failure(client.request("x", circle))) instanceof UsageError);
});

test("revisions are chosen by name", () => {
  for (const revision of ["0.55", "pi@0.55"]) new pi.Client(new FakeAgent().transport, { revision });
  assert.throws(() => new pi.Client(new FakeAgent().transport, { revision: "omp@12.7" }), UsageError);
});

test("fm_F10 lone surrogates are never sent", async () => {
  const { client, agent } = connected(pi.Client);
  void client.steer({ message: "x\ud800y" }).catch(() => undefined);
  assert.equal((await soon(agent.expect("steer")))["message"], "x\ufffdy");
  await client.close();
});

test("fm_F41 a thousand calls at once: no line is torn, every call gets its own answer", async () => {
  const { client, agent } = connected(pi.Client);
  const calls = Array.from({ length: 1000 }, (_, n) => client.request("echo", { n, padding: "x".repeat(n) }));
  const commands = [];
  for (let n = 0; n < calls.length; n++) commands.push(await soon(agent.expect("echo")));
  const answering = (async () => {
    for (const command of commands.reverse()) await agent.answer(command, command["n"]);
  })();
  assert.deepEqual(await soon(Promise.all(calls)), Array.from({ length: 1000 }, (_, n) => n));
  await answering;
});
