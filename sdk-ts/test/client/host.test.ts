import assert from "node:assert/strict";
import { test } from "node:test";

import { Assembler } from "../../src/chunks.js";
import { omp } from "../../src/index.js";
import { settle, soon } from "../support/agent.js";
import { connected } from "../support/connected.js";

const call = (id: string, toolName: string): object => ({
  type: "host_tool_call", id, toolCallId: "c1", toolName, arguments: { text: "ping" },
});

test("a handler carries out tools and reads addresses", async () => {
  let reason: unknown;
  const dialogs: omp.Dialogs = {
    hostToolCall: ({ toolName, toolCallId }, { signal }) => {
      if (toolName === "missing") return undefined;
      if (toolName === "echo") return { result: { content: [{ type: "text", text: toolCallId }] } };
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject((reason = signal.reason))));
    },
    hostUriRequest: ({ operation, url }) => ({ content: `${operation} of ${url}` }),
  };
  const { client, agent, odd } = connected(omp.Client, { dialogs });
  await agent.send(call("1", "hangs"));
  await agent.send(call("2", "echo"));
  assert.equal(await soon(agent.line()), '{"type":"host_tool_result","id":"2","result":{"content":[{"type":"text","text":"c1"}]}}');
  await agent.send({ type: "host_tool_cancel", id: "9", targetId: "1" });
  await agent.send({ type: "host_uri_request", id: "3", operation: "read", url: "notes://today" });
  assert.equal(await soon(agent.line()), '{"type":"host_uri_result","id":"3","content":"read of notes://today"}');
  assert.equal((reason as Error).name, "AbortError");
  assert.deepEqual(odd, []);
  await agent.send(call("4", "missing"));
  assert.match((await soon(agent.line())) ?? "", /"host_tool_result","id":"4".*"isError":true/);
  await client.close();
});

test("a host request without a handler is rejected", async () => {
  const { client, agent } = connected(omp.Client);
  await agent.send(call("1", "echo"));
  assert.match((await soon(agent.line())) ?? "", /"isError":true/);
  await agent.send({ type: "host_uri_request", id: "3", operation: "read", url: "notes://today" });
  assert.match((await soon(agent.line())) ?? "", /"host_uri_result","id":"3".*"isError":true/);
  await agent.send({ type: "extension_ui_request", id: "5", method: "dance" });
  assert.equal(await soon(agent.line()), '{"type":"extension_ui_response","id":"5","cancelled":true}');
  await client.close();
});

/** Returns the pieces of a frame, `size` bytes each. */
function pieces(chunkId: string, frame: object, size: number): Record<string, unknown>[] {
  const bytes = Buffer.from(JSON.stringify(frame));
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, index) => ({
    type: "rpc_chunk", chunkId, index, count, byteLength: bytes.length,
    data: bytes.subarray(index * size, (index + 1) * size).toString("base64"),
  }));
}

test("F25: a chunked frame is assembled and a broken one is reported", async () => {
  const { client, agent, odd } = connected(omp.Client);
  const text = client.getLastAssistantText();
  const { id } = JSON.parse((await soon(agent.line())) ?? "") as { id: string };
  const answer = (said: string): object => ({
    id, type: "response", command: "get_last_assistant_text", success: true, data: { text: said },
  });
  const [first = {}, , third = {}, ...rest] = pieces("a", answer("lost"), 40);
  for (const line of [first, third, first, { type: "agent_start" }]) await agent.send(line);
  for (const piece of pieces("b", answer("whöle"), 40)) await agent.send(piece);
  assert.equal((await soon(text)).text, "whöle");
  const told = `received 1 of ${rest.length + 3} pieces of a, then`;
  const wanted = [`${told} piece 2 of a`, `${told} another frame`].map((message) => ({ kind: "chunks", message }));
  assert.deepEqual(odd, wanted);
  await client.close();
});

test("a key in pieces is seen by no tap", async () => {
  const { client, agent, frames } = connected(omp.Client);
  const events = client.events();
  const frame = { type: "agent_start", note: "sk-ant-0123456789abcdefghij" };
  for (const piece of pieces("a", frame, 40)) await agent.send(piece);
  await agent.send("no frame");
  await agent.send({ type: "agent_start" });
  for await (const { raw } of events.withRaw()) if (raw === '{"type":"agent_start"}') break;
  const [whole = "", ...others] = frames;
  assert.ok(whole.includes('"agent_start"') && !whole.includes("sk-ant"), whole);
  assert.deepEqual(others, ["received no frame", 'received {"type":"agent_start"}']);
  await client.close();
});

test("a key in pieces is in no last frame", async () => {
  const { client, agent } = connected(omp.Client);
  const key = "sk-ant-0123456789abcdefghij";
  for (const piece of pieces("a", { type: "agent_start", note: key }, 40)) await agent.send(piece);
  for (const piece of pieces("b", { type: "before_provider_request", options: { plain: "very-private" } }, 60)) await agent.send(piece);
  // A frame whose last piece is missing is not passed to the tap.
  for (const piece of pieces("c", { type: "agent_start", note: key }, 40).slice(0, -1)) await agent.send(piece);
  await agent.end();
  const { lastFrames } = await soon(client.terminated);
  const [whole = "", ...others] = lastFrames;
  assert.ok(whole.includes('"agent_start"') && !whole.includes("sk-ant"), whole);
  assert.deepEqual(others, ['{"type":"before_provider_request"}']);
});

test("an event that carries a key is its type alone where it comes in pieces", async () => {
  const seen: string[] = [];
  const { client, agent } = connected(omp.Client);
  const events = client.events();
  for (const piece of pieces("a", { type: "before_provider_request", options: { plain: "very-private" } }, 40)) await agent.send(piece);
  await agent.send({ type: "agent_start" });
  for await (const { raw } of events.withRaw()) {
    seen.push(raw);
    if (seen.length === 2) break;
  }
  assert.deepEqual(seen, ['{"type":"before_provider_request"}', '{"type":"agent_start"}']);
  await client.close();
});

test("F25: missing, repeated, oversized and invalid chunks are reported and the next frame is read", () => {
  const { chunks } = omp.spec;
  assert.ok(chunks);
  const frame = { type: "notice", level: "info", message: "ünïcödé" };
  const length = Buffer.from(JSON.stringify(frame)).length;
  const [one = {}, two = {}, three = {}] = pieces("a", frame, 20);
  const play = (list: Record<string, unknown>[]): string[] => {
    const assembler = new Assembler();
    const steps = [...list, ...pieces("b", frame, 7)].map((piece) => assembler.add(chunks, piece as never));
    assert.deepEqual(steps.flatMap(({ completed }) => completed ?? []), [JSON.stringify(frame)]);
    return steps.flatMap(({ error }) => error ?? []);
  };
  assert.deepEqual(play([one, three]), ["received 1 of 3 pieces of a, then piece 2 of a"]);
  assert.deepEqual(play([one, two, two]), ["received 2 of 3 pieces of a, then piece 1 of a"]);
  assert.deepEqual(play([two]), ["piece 1 of a came without earlier pieces"]);
  assert.deepEqual(play([one, two]), ["received 2 of 3 pieces of a, then piece 0 of b"]);
  const most = 2 ** 40;
  const wrong = { ...pieces("c", frame, length)[0], byteLength: length + 1 };
  assert.deepEqual(play([one, wrong]), [`received 1 of 3 pieces of a, then piece 0 of c; the pieces of c have ${length} bytes, expected ${length + 1}`]);
  assert.deepEqual(play([{ ...one, byteLength: most }]), [`a has ${most} bytes; the limit is ${chunks.most}`]);
  assert.deepEqual(play([{ ...one, count: 0 }]), [`invalid piece 0 of 0 of a with ${length} bytes`]);
  assert.deepEqual(play([{ ...one, data: "?" }]), ["piece 0 of a is not base64"]);
  assert.deepEqual(play([{ ...one, data: "" }]), ["piece 0 of a is empty"]);
  assert.deepEqual(play([{ ...one, index: -1 }]), ["a piece of a frame has no `index`"]);
  assert.deepEqual(play([{ ...one, count: 1 }]), [`the pieces of a have 20 bytes, expected ${length}`]);
});

test("a run ends where its end is the last one", async () => {
  const { client, agent } = connected(omp.Client);
  await agent.send({ type: "ready", protocolVersion: 1, supportedProtocolVersions: [1, 2], maxFrameBytes: 1, maxReassembledFrameBytes: 1 });
  const run = client.prompt({ message: "go" });
  const { id } = JSON.parse((await soon(agent.line())) ?? "") as { id: string };
  await agent.send({ id, type: "response", command: "prompt", success: true });
  for (const isTerminal of [false, true]) {
    await agent.send({ type: "agent_start" });
    await agent.send({ type: "agent_end", messages: [], isTerminal });
    await settle();
  }
  await agent.send({ type: "auto_retry_end", success: true, attempt: 1 });
  const asked = JSON.parse((await soon(agent.line())) ?? "") as { id: string; type: string };
  assert.equal(asked.type, "get_state");
  await agent.send({ id: asked.id, type: "response", command: "get_state", success: true, data: { isStreaming: false } });
  await soon((await run).result());
  assert.equal(client.revision, "omp@18.2");
  await client.close();
});
