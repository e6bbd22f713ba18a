import assert from "node:assert/strict";
import { test } from "node:test";

import { DecodeError, UNKNOWN, opal, pi } from "../../src/index.js";
import { soon, update } from "../support/agent.js";
import { connected } from "../support/connected.js";

test("fm_F20 an event that is not declared comes as unknown, with its line", async () => {
  const { client, agent, odd } = connected(pi.Client);
  const events = client.events().withRaw();
  const line = '{"type":"weather" ,"sky":"blue","n":1.0}';
  await agent.send(line);
  const { value } = await soon(events.next());
  assert.deepEqual(value, { event: { type: UNKNOWN, name: "weather", value: { type: "weather", sky: "blue", n: 1 } }, raw: line });
  assert.deepEqual(odd, [{ kind: "unknown_frame", type: "weather" }]);
  // An undeclared value of an open enumeration causes no diagnostic.
  await agent.send({ ...update("x"), assistantMessageEvent: { type: "sparkle", n: 1 } });
  const next = await soon(events.next());
  assert.equal((next.value?.event as { assistantMessageEvent: { type: string } }).assistantMessageEvent.type, "sparkle");
});

test("fm_F23 foreign text is reported and skipped", async () => {
  const { client, agent, odd } = connected(pi.Client);
  const state = client.getState();
  const command = await soon(agent.expect("get_state"));
  await agent.send("(node:12) Warning: sk-ant-0123456789abcdefghij", '"sk-ant-0123456789abcdefghij"', "[]", "{", "", "  ");
  await agent.sendBytes(new Uint8Array([0xff, 0x0a]));
  await agent.answer(command, { sessionId: "s" });
  assert.equal((await soon(state)).sessionId, "s");
  assert.deepEqual(odd.map((diagnostic) => diagnostic.kind), ["noise", "noise", "noise", "noise", "framing"]);
  assert.ok(!JSON.stringify(odd[1]).includes("0123456789"));
});

test("fm_F23 a line that only begins like an event is reported and skipped", async () => {
  const { client, agent, odd } = connected(pi.Client);
  const events = client.events()[Symbol.asyncIterator]();
  const waiting = events.next();
  await agent.send('{"type":"message_update", broken}', '{"type":"message_update","x":}', update("one"));
  assert.equal((await soon(waiting)).value?.type, "message_update");
  await agent.send('{"type":"turn_end" broken}', '{"type":"message_end",}', update("two"));
  const state = client.getState();
  await agent.answer(await soon(agent.expect("get_state")), {});
  await soon(state);
  assert.equal((await soon(events.next())).value?.type, "message_update");
  assert.deepEqual(odd.map(({ kind }) => kind), ["noise", "noise", "noise", "noise"]);
});

test("fm_F17 of two types the last counts, however an event begins", async () => {
  const { client, agent } = connected(pi.Client);
  const events = client.events()[Symbol.asyncIterator]();
  await agent.send('{"type":"message_update","type":"turn_start"}', '{"type":"message_update","type":"weather"}');
  assert.equal((await soon(events.next())).value?.type, "turn_start");
  assert.equal((await soon(events.next())).value?.type, UNKNOWN);
});

test("fm_F14 fm_F12 an endless line is reported and skipped", async () => {
  const { client, agent, odd } = connected(pi.Client, { maxLine: 1000 });
  const text = client.getLastAssistantText();
  const command = await soon(agent.expect("get_last_assistant_text"));
  for (let piece = 0; piece < 50; piece++) await agent.sendBytes("x".repeat(100));
  await agent.sendBytes("\n");
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

test("the tap sees every frame, keys redacted", async () => {
  const { client, agent, frames } = connected(opal.Client);
  const set = client.authSetKey({ provider: "anthropic", api_key: "very-secret" });
  await agent.send({ jsonrpc: "2.0", id: (await soon(agent.receive()))["id"], result: { ok: true } });
  await soon(set);
  assert.equal(frames.length, 2);
  assert.ok(frames[0]?.startsWith("sent") && frames[0].includes("[redacted]") && !frames[0].includes("very-secret"));
  assert.ok(frames[1]?.startsWith("received"));
});

test("a number that no double holds is reported, whether its event is short or long", async () => {
  const { client, agent, odd } = connected(pi.Client);
  const events = client.events().withRaw();
  const text = "x".repeat(5000);
  for (const number of ["9007199254740993", "-9007199254740993", "1e400", "-1e400"]) {
    for (const more of ['"id 9007199254740993"', `"${text}"`]) {
      await agent.send(`{"type":"turn_start","exact":[9007199254740992,1e300,0.1],"n":${number},"more":${more}}`);
      const { value } = await soon(events.next());
      const nearest = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, Number(number)));
      assert.equal((value?.event as unknown as { n: number }).n, nearest);
      assert.deepEqual(odd.splice(0), [{ kind: "inexact_number", number }]);
    }
  }
  await agent.send('{"type":"turn_start","n":9007199254740991,"text":"9007199254740993"}');
  await soon(events.next());
  assert.deepEqual(odd, []);
});

test("an answer that a line quotes fails its call unless it comes", async (context) => {
  const { client, agent } = connected(pi.Client);
  const failed = assert.rejects(client.prompt({ message: "hello" }), DecodeError);
  const command = await soon(agent.expect("prompt"));
  // The test replaces the 30-second timer and fires it itself.
  const later: (() => void)[] = [];
  const real = globalThis.setTimeout;
  context.mock.method(globalThis, "setTimeout", (act: () => void, after: number) => {
    if (after === 30_000) later.push(act);
    return real(act, after);
  });
  await agent.send(`Loading… {"id":${JSON.stringify(command["id"])},"type":"response","command":"prompt","success":true}`);
  // The client queries the state only after it has read the line.
  await soon(agent.expect("get_state"));
  for (const act of later) act();
  await soon(failed);
});
