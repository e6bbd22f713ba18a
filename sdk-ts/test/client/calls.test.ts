import assert from "node:assert/strict";
import { test } from "node:test";

import { RefusedError, StalledError, TimedOutError, UsageError, omp, opal, pi } from "../../src/index.js";
import { FakeAgent, failure, soon } from "../support/agent.js";
import { connected } from "../support/connected.js";

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
  await agent.send({ jsonrpc: "2.0", id: 1, error: { code: -32602, message: "Session not found", data: { a: 1 } } });
  const error = await failure(state);
  assert.ok(error instanceof RefusedError);
  assert.deepEqual([error.code, error.message, error.data, error.command], [-32602, "Session not found", { a: 1 }, "agent/state"]);
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

test("the limit of all calls holds for every command but those that the caller exempts", async () => {
  const { client, agent } = connected(pi.Client, { timeout: 5 });
  const compacting = client.compact({}, { timeout: 0 });
  const running = client.bash({ command: "sleep" }, { timeout: 0 });
  const [compact, bash] = [await soon(agent.expect("compact")), await soon(agent.expect("bash"))];
  // The two earlier calls are still pending after the later ones have failed.
  assert.ok((await failure(client.getState())) instanceof TimedOutError);
  assert.ok((await failure(client.request("undeclared"))) instanceof TimedOutError);
  await agent.reject(compact, "compact was waited for");
  await agent.reject(bash, "bash was waited for");
  assert.match(String(await failure(compacting)), /compact was waited for/);
  assert.match(String(await failure(running)), /bash was waited for/);
  assert.ok((await failure(client.bash({ command: "sleep" }))) instanceof TimedOutError);
  assert.ok((await failure(client.prompt({ message: "hi" }))) instanceof TimedOutError);
});

test("a timeout beyond the range of timers is no timeout", async () => {
  for (const timeout of [1e10, 2 ** 31, Infinity]) {
    const { client, agent } = connected(pi.Client);
    const state = client.getState({ timeout });
    const command = await soon(agent.expect("get_state"));
    // A later timer has fired, so a timer that overflowed would have fired too.
    assert.ok((await failure(client.getState({ timeout: 5 }))) instanceof TimedOutError);
    await agent.answer(command, { sessionId: "s" });
    assert.equal((await soon(state)).sessionId, "s");
  }
});

test("output to an agent that does not read is bounded, and raw lines report when they are written", async () => {
  const { client, agent } = connected(pi.Client, { queueBytes: 1000 });
  const raw = client.sendRaw("x".repeat(200_000));
  const behind = client.sendRaw("{}");
  const error = await failure(client.getState());
  assert.ok(error instanceof StalledError && error.command === "get_state" && error.after === 0 && error.isRetryable);
  assert.match(error.message, /does not read/);
  assert.ok((await failure(behind)) instanceof StalledError);
  assert.equal((await soon(agent.line())).length, 200_000);
  await soon(raw);
  const state = client.getState();
  await agent.answer(await soon(agent.expect("get_state")), { sessionId: "s" });
  assert.equal((await soon(state)).sessionId, "s");
  const [lost] = await Promise.all([failure(client.sendRaw("y".repeat(200_000))), agent.end()]);
  assert.equal(lost, await soon(client.terminated));
});

test("fm_F37 answers with an unknown, missing or second id resolve nothing wrongly", async () => {
  const { client, agent, odd } = connected(pi.Client);
  const first = client.getState();
  const second = client.getState();
  const [one, two] = [await soon(agent.receive()), await soon(agent.receive())];
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
  await agent.send({ type: "response", command: "compact", success: false, error: "Already compacted" });
  const error = await failure(second);
  assert.ok(error instanceof RefusedError && error.attributed && error.command === "compact");
  await agent.send({ type: "response", command: "parse", success: false, error: "Failed to parse command: x" });
  const parse = await failure(first);
  assert.ok(parse instanceof RefusedError && parse.attributed && parse.command === "bash");
  assert.equal(parse.message, "Failed to parse command: x");
  await agent.send({ type: "response", command: "bash", success: false, error: "no" });
  await failure(third);
});

test("a failure without id is none of a call whose failures carry one", async () => {
  const { client, agent } = connected(omp.Client);
  const prompt = client.abortAndPrompt({ message: "x" });
  const command = await soon(agent.expect("abort_and_prompt"));
  const bash = failure(client.bash({ command: "false" }));
  await agent.send({ type: "response", command: "parse", success: false, error: "Failed to parse command: no shell" });
  const error = await bash;
  assert.ok(error instanceof RefusedError && error.attributed && error.command === "bash");
  await agent.answer(command);
  await soon(prompt);
  // If no other call waits, the failure can belong only to this call.
  const only = failure(client.abortAndPrompt({ message: "y" }));
  await soon(agent.expect("bash"));
  await soon(agent.expect("abort_and_prompt"));
  await agent.send({ type: "response", command: "parse", success: false, error: "Failed to parse command: y" });
  assert.ok((await only) instanceof RefusedError);
});

test("the late failure of an abandoned call settles no other call", async () => {
  const { client, agent, odd } = connected(omp.Client);
  const stop = new AbortController();
  const late = [failure(client.exportHtml({}, { timeout: 5 })), failure(client.bash({ command: "x" }, { signal: stop.signal }))];
  stop.abort();
  await Promise.all(late);
  const compact = client.compact();
  for (const name of ["export_html", "bash"]) await soon(agent.expect(name));
  const command = await soon(agent.expect("compact"));
  await agent.send({ type: "response", command: "parse", success: false, error: "Failed to parse command: too late" });
  await agent.send({ type: "response", command: "bash", success: false, error: "too late" });
  await agent.answer(command, { summary: "s", firstKeptEntryId: "e", tokensBefore: 1 });
  assert.equal((await soon(compact)).summary, "s");
  assert.deepEqual(odd, [
    { kind: "unmatched_answer", id: undefined, command: "parse" },
    { kind: "unmatched_answer", id: undefined, command: "bash" },
  ]);
});

test("a timeout is retryable for idempotent commands only", async () => {
  const { client } = connected(pi.Client, { timeout: 5 });
  for (const [call, repeats] of [
    [client.prompt({ message: "x" }, { timeout: 5 }), false],
    [client.bash({ command: "x" }, { timeout: 5 }), false],
    [client.steer({ message: "x" }), false],
    [client.newSession(), false],
    [client.cycleModel(), false],
    [client.getState(), true],
  ] as const) {
    const error = await failure(call);
    assert.ok(error instanceof TimedOutError && error.isRetryable === repeats, String(error));
  }
});

test("documented failures have a kind", async () => {
  const { client, agent } = connected(pi.Client);
  for (const [message, kind] of [
    ["No API key found for anthropic.\n\nUse /login.", "no_api_key"],
    ["something else", "refused"],
  ] as const) {
    const call = failure(client.prompt({ message: "x" }));
    await agent.reject(await soon(agent.expect("prompt")), message);
    const error = await call;
    assert.ok(error instanceof RefusedError);
    assert.deepEqual([error.kind, error.message, error.command], [kind, message, "prompt"]);
  }
});

test("a signal cancels a call and a run", async () => {
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

test("undeclared commands can be sent", async () => {
  const { client, agent } = connected(pi.Client);
  const answer = client.request("teleport", { to: "mars" });
  const command = await soon(agent.expect("teleport"));
  assert.equal(command["to"], "mars");
  await agent.answer(command, { there: true });
  assert.deepEqual(await soon(answer), { there: true });
  const sent = client.sendRaw('{"type": "odd"}');
  assert.equal(await soon(agent.line()), '{"type": "odd"}');
  await soon(sent);
  assert.ok((await failure(client.sendRaw("a\nb"))) instanceof UsageError);
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
