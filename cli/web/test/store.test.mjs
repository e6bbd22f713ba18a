// Tests of the commands that the page sends after a restart of its agent.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Socket, Store, installBrowser } from "./support/memory.mjs";

/** Resolves after the page has sent all commands that do not depend on a response. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Returns the page's first command after a restart; `state` is the session state before the restart. */
async function afterRestart(t, dialect, state) {
  installBrowser(t);
  const store = new Store();
  store.link.open();
  const socket = Socket.made[0];
  socket.open({ dialect, session: dialect === "opal" ? state.id : null });
  await settled();
  if (dialect !== "opal") {
    const { id } = socket.received.find(({ type }) => type === "get_state");
    socket.deliver({ id, type: "response", command: "get_state", success: true, data: state });
  }
  socket.deliver({ agentese: "ended", text: "exited", stderr: "", restarts: true });
  await settled();
  socket.received.length = 0;
  socket.deliver({ agentese: "started", resume: true });
  await settled();
  const { type, method, sessionPath, params } = socket.received.find(({ agentese }) => agentese === undefined);
  return type === undefined ? [method, params] : [type, sessionPath];
}

test("the session that was open is opened again by its file", async (t) => {
  const state = { sessionId: "s1", sessionFile: "/home/s1.jsonl" };
  assert.deepEqual(await afterRestart(t, "pi", state), ["switch_session", "/home/s1.jsonl"]);
});

test("an unsaved session is not opened again", async (t) => {
  assert.deepEqual(await afterRestart(t, "pi", { sessionId: "s1" }), ["get_state", undefined]);
});

test("opal's sessions are opened again by their ids", async (t) => {
  assert.deepEqual(await afterRestart(t, "opal", { id: "s1" }), ["session/start", { session_id: "s1", session: true }]);
});

test("a tab that does not open the session again waits for the one that does", async (t) => {
  installBrowser(t);
  const store = new Store();
  store.link.open();
  const socket = Socket.made[0];
  socket.open({ dialect: "pi" });
  await settled();
  socket.deliver({ agentese: "ended", text: "exited", stderr: "", restarts: true });
  await settled();
  socket.received.length = 0;
  socket.deliver({ agentese: "started", resume: false });
  t.mock.timers.tick(60_000);
  await settled();
  assert.deepEqual(socket.received, []);
  socket.deliver({ agentese: "resumed" });
  await settled();
  assert.equal(socket.received[0].type, "get_state");
});

/** Returns a page that waits until Opal's first session is open, and the request that opens it. */
async function opening(t) {
  installBrowser(t);
  const store = new Store();
  store.link.open();
  const socket = Socket.made[0];
  socket.open({ dialect: "opal" });
  await settled();
  return { store, socket, start: socket.received.find(({ method }) => method === "session/start") };
}

test("input before the first session exists goes to that session", async (t) => {
  const { store, socket, start } = await opening(t);
  void store.try("prompt", "hello", [], "prompt");
  void store.try("setThinking", "high");
  await settled();
  assert.deepEqual(socket.received, [start]);
  socket.deliver({ jsonrpc: "2.0", id: start.id, result: { session_id: "s1" } });
  await settled();
  const said = socket.received.filter(({ method }) => method === "agent/prompt" || method === "thinking/set");
  assert.deepEqual(said.map(({ method, params }) => [method, params]), [
    ["agent/prompt", { session_id: "s1", text: "hello" }],
    ["thinking/set", { session_id: "s1", level: "high" }],
  ]);
});

test("input during the reopening of a session goes to that session", async (t) => {
  const { store, socket, start } = await opening(t);
  socket.deliver({ jsonrpc: "2.0", id: start.id, result: { session_id: "s1" } });
  await settled();
  socket.deliver({ agentese: "ended", text: "exited", stderr: "", restarts: true });
  await settled();
  socket.received.length = 0;
  socket.deliver({ agentese: "started", resume: true });
  void store.try("prompt", "hello", [], "prompt");
  await settled();
  const [again, ...others] = socket.received;
  assert.deepEqual([again.method, others], ["session/start", []]);
  socket.deliver({ jsonrpc: "2.0", id: again.id, result: { session_id: "s1" } });
  await settled();
  const said = socket.received.find(({ method }) => method === "agent/prompt");
  assert.deepEqual(said?.params, { session_id: "s1", text: "hello" });
});

test("input is rejected when the first session cannot be opened", async (t) => {
  const { store, socket, start } = await opening(t);
  const done = store.try("prompt", "hello", [], "prompt");
  socket.deliver({ jsonrpc: "2.0", id: start.id, error: { code: -32000, message: "no model" } });
  await settled();
  const said = socket.received.find(({ method }) => method === "agent/prompt");
  socket.deliver({ jsonrpc: "2.0", id: said.id, error: { code: -32602, message: "no session" } });
  assert.equal(await done, undefined);
  assert.deepEqual(store.page.toasts.map(({ text }) => text), ["no model", "no session"]);
});

test("input during a restart of the agent goes to the reopened session", async (t) => {
  const { store, socket } = await opening(t);
  void store.try("prompt", "hello", [], "prompt");
  // When the agent ends, the call that opens the session fails.
  socket.deliver({ agentese: "ended", text: "exited", stderr: "", restarts: true });
  await settled();
  socket.deliver({ agentese: "started", resume: true });
  await settled();
  assert.equal(socket.received.some(({ method }) => method === "agent/prompt"), false);
  const again = socket.received.findLast(({ method }) => method === "session/start");
  socket.deliver({ jsonrpc: "2.0", id: again.id, result: { session_id: "s2" } });
  await settled();
  assert.deepEqual(socket.received.find(({ method }) => method === "agent/prompt")?.params, { session_id: "s2", text: "hello" });
});

test("input is rejected when the agent has ended for good", async (t) => {
  const { store, socket } = await opening(t);
  socket.deliver({ agentese: "ended", text: "exited", stderr: "", restarts: true });
  const done = store.try("prompt", "hello", [], "prompt");
  await settled();
  socket.deliver({ agentese: "ended", text: "exited", stderr: "", restarts: false });
  await settled();
  const said = socket.received.find(({ method }) => method === "agent/prompt");
  socket.deliver({ jsonrpc: "2.0", id: said.id, error: { code: -32000, message: "the agent has ended" } });
  assert.equal(await done, undefined);
});

test("input during a reconnect is sent after it", async (t) => {
  const { store, socket, start } = await opening(t);
  socket.deliver({ jsonrpc: "2.0", id: start.id, result: { session_id: "s1" } });
  await settled();
  store.link.restart();
  const done = store.try("prompt", "hello", [], "prompt");
  await settled();
  const later = Socket.made[1];
  later.open({ dialect: "opal", session: "s1" });
  await settled();
  const said = later.received.filter(({ method }) => method === "agent/prompt");
  assert.deepEqual(said.map(({ params }) => params), [{ session_id: "s1", text: "hello" }]);
  later.deliver({ jsonrpc: "2.0", id: said[0].id, result: { queued: false } });
  assert.deepEqual(await done, { data: { queued: false } });
});
