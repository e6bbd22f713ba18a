/** Agents of any dialect in memory: detection of the dialect, and the end of the connection. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { type Intent, NotInDialectError, NotRecognisedError, connect } from "../src/any.js";
import type { JsonObject } from "../src/generated/types.js";
import type { Direction } from "../src/tap.js";
import { spawnChild } from "../src/stdio.js";
import { RunFailedError } from "../src/error.js";
import { Termination } from "../src/termination.js";
import type { Transport } from "../src/transport.js";
import { FakeAgent, soon } from "./support/agent.js";

const STATE = {
  thinkingLevel: "medium",
  isStreaming: false,
  isCompacting: false,
  steeringMode: "all",
  followUpMode: "all",
  sessionId: "s",
  autoCompactionEnabled: true,
  messageCount: 0,
  pendingMessageCount: 0,
};

/** Answers the two queries of the detection, as pi does. */
async function recognise(agent: FakeAgent): Promise<void> {
  for (let asked = 0; asked < 2; asked++) {
    const question = await agent.receive();
    if (question["type"] === "get_state") await agent.answer(question, STATE);
    else await agent.send({ type: "response", command: "unknown", success: false, error: "no" });
  }
}

test("the session named in the opening response is followed despite other frames", async () => {
  const agent = new FakeAgent();
  const connected = await soon(connect(agent.transport, { dialect: "opal" }));
  const result = (id: unknown, session_id: string) => ({ jsonrpc: "2.0", id, result: { session_id } }) as JsonObject;
  const first = connected.newSession();
  await agent.send(result((await agent.receive())["id"], "one"));
  await soon(first);
  assert.equal(connected.conversation.session.id, "one");
  const second = connected.newSession();
  const { id } = await agent.receive();
  await agent.send(result("asked before", "one"));
  // A syntax error in a long frame is found only when the frame is parsed.
  await agent.send(`{"jsonrpc":"2.0","method":"session/title","params":{"a":tru,"text":"${"x".repeat(5000)}"}}`);
  await agent.send(result(id, "two"));
  await agent.send(result("asked before", "one"));
  await soon(second);
  assert.equal(connected.conversation.session.id, "two");
  await agent.end();
});

test("commands go to the session whose concurrent opening is answered last", async () => {
  const agent = new FakeAgent();
  const connected = await soon(connect(agent.transport, { dialect: "opal" }));
  const opening = [connected.openSession("one"), connected.openSession("two")];
  const asked = [await agent.receive(), await agent.receive()];
  for (const session of ["two", "one"]) {
    const of = asked.find(({ params }) => (params as JsonObject)["session_id"] === session);
    await agent.send({ jsonrpc: "2.0", id: of?.["id"], result: { session_id: session, context_files: [] } });
  }
  await soon(Promise.all(opening));
  assert.equal(connected.conversation.session.id, "one");
  const aborting = connected.abort();
  const { id, params } = await agent.receive();
  assert.equal((params as JsonObject)["session_id"], "one");
  await agent.send({ jsonrpc: "2.0", id, result: {} });
  await soon(aborting);
  await agent.end();
});

/**
 * Starts two calls without an open session: the first opens the default session, the second another one.
 * Returns both calls and the ids of their requests.
 */
async function opensTwo(agent: FakeAgent) {
  const connected = await soon(connect(agent.transport, { dialect: "opal" }));
  const [calling, opening] = [connected.abort(), connected.openSession("other")];
  const asked = [await agent.receive(), await agent.receive()];
  const id = (isOther: boolean) => asked.find(({ params }) => ((params as JsonObject)["session_id"] === "other") === isOther)?.["id"];
  return { connected, calling, opening, first: id(false), other: id(true) };
}

/** Receives and answers an abort. Returns the id of its session. */
async function aborted(agent: FakeAgent): Promise<unknown> {
  const { id, params } = await agent.expect("agent/abort");
  await agent.send({ jsonrpc: "2.0", id, result: {} });
  return (params as JsonObject)["session_id"];
}

test("of a first session and a concurrent opening, the last answered is followed", async () => {
  for (const last of ["first", "other"] as const) {
    const agent = new FakeAgent();
    const { connected, calling, opening, first, other } = await opensTwo(agent);
    const answers = [["first", first], ["other", other]].map(([session_id, id]) => JSON.stringify({ jsonrpc: "2.0", id, result: { session_id } }));
    await agent.sendBytes(`${(last === "other" ? answers : answers.reverse()).join("\n")}\n`);
    assert.equal(await soon(aborted(agent)), last);
    await soon(Promise.all([calling, opening]));
    assert.equal(connected.conversation.session.id, last);
    const again = connected.abort();
    assert.equal(await soon(aborted(agent)), last);
    await soon(again);
    await agent.end();
  }
});

test("no call waits for a first session when another is followed", async () => {
  const agent = new FakeAgent();
  const { connected, calling, opening, first, other } = await opensTwo(agent);
  await agent.send({ jsonrpc: "2.0", id: other, result: { session_id: "other" } });
  await soon(opening);
  const again = connected.abort();
  assert.equal(await soon(aborted(agent)), "other");
  await soon(again);
  await agent.send({ jsonrpc: "2.0", id: first, result: { session_id: "first" } });
  assert.equal(await soon(aborted(agent)), "first");
  await soon(calling);
  await agent.end();
});

test("a rejected first session does not replace a session opened meanwhile", async () => {
  const agent = new FakeAgent();
  const { connected, calling, opening, first, other } = await opensTwo(agent);
  const refused = assert.rejects(calling);
  await agent.send({ jsonrpc: "2.0", id: other, result: { session_id: "other" } });
  await soon(opening);
  await agent.send({ jsonrpc: "2.0", id: first, error: { code: -32603, message: "no" } });
  await soon(refused);
  const again = connected.abort();
  assert.equal(await soon(aborted(agent)), "other");
  await soon(again);
  await agent.end();
});

test("a late response to an older opening does not bring back the left session", async () => {
  const agent = new FakeAgent();
  const connected = await soon(connect(agent.transport, { dialect: "opal" }));
  const result = (id: unknown, session_id: string) => ({ jsonrpc: "2.0", id, result: { session_id } }) as JsonObject;
  const first = connected.newSession();
  await agent.send(result((await agent.receive())["id"], "one"));
  await soon(first);
  const opening = [connected.newSession(), connected.newSession()];
  const asked = [await agent.receive(), await agent.receive()];
  await agent.send(result(asked[0]?.["id"], "two"), result("asked before", "one"), result(asked[1]?.["id"], "three"), result("asked before", "one"));
  await soon(Promise.all(opening));
  assert.equal(connected.conversation.session.id, "three");
  await agent.end();
});

const UNTAKEN: readonly (readonly [string, Intent, Record<string, unknown>, string])[] = [
  ["omp", "bash", { command: "ls" }, "hidden"],
  // The client does not know yet that the agent's revision has this parameter.
  ["pi", "bash", { command: "ls" }, "hidden"],
  ["pi@0.55", "bash", { command: "ls" }, "hidden"],
  ["opal", "compact", {}, "instructions"],
  ["operator", "followUp", { text: "hi" }, "images"],
  ["pi", "abort", {}, "madeUp"],
];

for (const [dialect, intent, given, param] of UNTAKEN) {
  test(`${dialect} rejects ${intent} with the unsupported parameter ${param}`, async () => {
    const agent = new FakeAgent();
    const connected = await soon(connect(agent.transport, { dialect }));
    await assert.rejects(connected.call(intent, { ...given, since: undefined, [param]: true }), (error: Error) => {
      return error instanceof NotInDialectError && error.param === param && error.message.startsWith(dialect) && error.message.includes(`\`${param}\``);
    });
    const closed = connected.close();
    await assert.rejects(agent.line(), /closed its end/);
    await agent.end();
    await soon(closed);
  });
}

test("a supported parameter is sent and an unsupported hint is omitted", async () => {
  const sends: readonly (readonly [string, Intent, Record<string, unknown>, Record<string, unknown>])[] = [
    ["pi@1.5", "bash", { command: "ls", hidden: true }, { command: "ls", excludeFromContext: true }],
    ["operator", "prompt", { text: "hi", whenBusy: "steer" }, { message: "hi", text: "hi" }],
  ];
  for (const [dialect, intent, given, sent] of sends) {
    const agent = new FakeAgent();
    const connected = await soon(connect(agent.transport, { dialect }));
    const call = assert.rejects(connected.call(intent, given));
    const { id: _, type: __, ...members } = await agent.receive();
    assert.deepEqual(members, sent);
    await agent.end();
    await soon(call);
  }
});

describe("an agent with a detected dialect", () => {
  test("emits an error event again, and not the rejection of a question", async () => {
    const agent = new FakeAgent();
    const lines: JsonObject[] = [];
    const frame = (_: Direction, line: string): void => void lines.push(JSON.parse(line) as JsonObject);
    const connecting = connect(agent.transport, { tap: { frame } });
    await agent.send({ type: "extension_error", extensionPath: "/x.ts", event: "input", error: "no" });
    await recognise(agent);
    const connected = await soon(connecting);
    assert.equal(connected.dialect, "pi");
    await agent.end();
    await soon(connected.client.terminated);
    assert.deepEqual(lines.map(({ type }) => type), ["extension_error"]);
  });

  test("reports a read failure when its transport breaks later", async () => {
    const agent = new FakeAgent();
    let fail: ((error: Error) => void) | undefined;
    const { readable, writable } = agent.transport;
    const breaking = new TransformStream<Uint8Array, Uint8Array>({ start: (controller) => void (fail = (error) => controller.error(error)) });
    void readable.pipeTo(breaking.writable).catch(() => undefined);
    const connecting = connect({ readable: breaking.readable, writable });
    await recognise(agent);
    const connected = await soon(connecting);
    fail?.(new Error("the cable is out"));
    const end = await soon(connected.client.terminated);
    assert.equal(end.reason, "io");
    assert.match(String(end.cause), /the cable is out/);
  });

  test("is released when it speaks no known dialect", async () => {
    let isCancelled = false;
    let isClosed = false;
    const transport: Transport = {
      readable: new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"hello":1}\n')),
        cancel: () => void (isCancelled = true),
      }),
      writable: new WritableStream<Uint8Array>({ close: () => void (isClosed = true) }),
    };
    await assert.rejects(soon(connect(transport, { detectWithin: 50 })), NotRecognisedError);
    assert.deepEqual([isCancelled, isClosed, transport.readable.locked], [true, true, false]);
  });
});

test("a listener added after the end receives the end at once", async () => {
  const agent = new FakeAgent();
  const connected = await connect(agent.transport, { dialect: "pi" });
  await agent.end();
  const end = await soon(connected.client.terminated);
  await assert.rejects(soon(connected.events().next()), end);
});

test("the death of an agent ends the conversation and its listeners", async () => {
  const agent = new FakeAgent();
  const connected = await soon(connect(agent.transport, { dialect: "pi" }));
  const events = connected.events();
  const prompting = connected.prompt("hello");
  await agent.answer(await agent.receive());
  const run = await soon(prompting);
  await agent.send({ type: "agent_start" }, { type: "message_start", message: { role: "assistant", content: [], timestamp: 1 } });
  await agent.end();
  const error = await soon(run.result().catch((failure: unknown) => failure));
  assert.ok(error instanceof Termination);
  const { run: state, messages } = connected.conversation;
  assert.deepEqual([state.state, state.error, messages.at(-1)?.state], ["idle", error.message, "failed"]);
  const told: string[] = [];
  await assert.rejects(soon((async () => { for await (const { type } of events) told.push(type); })()), Termination);
  assert.deepEqual(told.filter((type) => type === "messageEnded" || type === "state").slice(-2), ["messageEnded", "state"]);
});

test("a run that failed is an error of a loop and of the result, and the conversation says why", async () => {
  const agent = new FakeAgent();
  const connected = await soon(connect(agent.transport, { dialect: "pi" }));
  const prompting = connected.prompt("hello");
  await agent.answer(await agent.receive());
  const run = await soon(prompting);
  const message = { role: "assistant", content: [], stopReason: "error", errorMessage: "529 overloaded", timestamp: 1 };
  await agent.send({ type: "agent_start" }, { type: "message_end", message }, { type: "agent_end", messages: [] });
  await agent.answer(await agent.expect("get_state"), STATE);
  await assert.rejects(soon((async () => { for await (const _ of run); })()), RunFailedError);
  await assert.rejects(soon(run.result()), { name: "RunFailedError", message: "529 overloaded" });
  assert.equal((await run.wait()).failure?.message, "529 overloaded");
  assert.equal(connected.conversation.run.error, "529 overloaded");
  await agent.end();
});

test("an agent that dies at its start is reported with its exit code and the end of stderr", async () => {
  const script = "echo 'first' >&2; echo 'no key: sk-ant-0123456789abcdefghij' >&2; exit 3";
  const error = await soon(connect(await spawnChild(["sh", "-c", script])).catch((failure: unknown) => failure));
  assert.ok(error instanceof NotRecognisedError);
  assert.match(error.message, /it ended without output \(exited with code 3\): no key: \[redacted\]/);
});

describe("an agent of ACP", () => {
  const instruction = /agentese bridge --to pi@1\.5 --from acp --/;
  const rejection = { code: -32601, message: "Method not found" };

  /** Rejects the queries of the detection and answers the handshake with a version. */
  async function shakeHands(agent: FakeAgent, version: number | string): Promise<void> {
    await agent.receive();
    const { id } = await agent.receive();
    await agent.send({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "Invalid request" } }, { jsonrpc: "2.0", id, error: rejection } as JsonObject);
    const handshake = await agent.receive();
    assert.deepEqual([handshake["method"], handshake["params"]], ["initialize", { protocolVersion: 1 }]);
    await agent.send({ jsonrpc: "2.0", id: handshake["id"], result: { protocolVersion: version } } as JsonObject);
  }

  test("is detected, and the error explains the bridge", async () => {
    const agent = new FakeAgent();
    const connecting = connect(agent.transport).catch((failure: unknown) => failure);
    await soon(shakeHands(agent, 1));
    const error = await soon(connecting);
    assert.ok(error instanceof NotRecognisedError);
    assert.match(error.message, instruction);
  });

  test("differs from another protocol by its version", async () => {
    const agent = new FakeAgent();
    const connecting = connect(agent.transport, { detectWithin: 2000 }).catch((failure: unknown) => failure);
    await soon(shakeHands(agent, "2025-06-18"));
    const error = await soon(connecting);
    assert.ok(error instanceof NotRecognisedError);
    assert.doesNotMatch(error.message, instruction);
  });

  test("cannot be named as a dialect, and the error explains the bridge", async () => {
    for (const dialect of ["acp", "acp@1"]) {
      await assert.rejects(connect(new FakeAgent().transport, { dialect }), { name: "RangeError", message: instruction });
    }
  });
});
