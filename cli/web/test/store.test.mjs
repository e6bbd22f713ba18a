// Requests of the page after a restart of its agent.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Socket, Store, begin } from "./support/memory.mjs";

/** Resolves when the page has sent all requests that need no earlier answer. */
const asked = () => new Promise((resolve) => setImmediate(resolve));

/** Returns the page's first command after a restart; `state` is the session state before the restart. */
async function afterRestart(t, dialect, state) {
  begin(t);
  const store = new Store();
  store.link.open();
  const socket = Socket.made[0];
  socket.open({ dialect, session: dialect === "opal" ? state.id : null });
  await asked();
  if (dialect !== "opal") {
    const { id } = socket.heard.find(({ type }) => type === "get_state");
    socket.say({ id, type: "response", command: "get_state", success: true, data: state });
  }
  socket.say({ agentese: "ended", text: "exited", stderr: "", restarts: true });
  await asked();
  socket.heard.length = 0;
  socket.say({ agentese: "started", resume: true });
  await asked();
  const { type, method, sessionPath, params } = socket.heard.find(({ agentese }) => agentese === undefined);
  return type === undefined ? [method, params] : [type, sessionPath];
}

test("the session that was open is opened again by its file", async (t) => {
  const state = { sessionId: "s1", sessionFile: "/home/s1.jsonl" };
  assert.deepEqual(await afterRestart(t, "pi", state), ["switch_session", "/home/s1.jsonl"]);
});

test("a session that is not kept is not asked for", async (t) => {
  assert.deepEqual(await afterRestart(t, "pi", { sessionId: "s1" }), ["get_state", undefined]);
});

test("opal's sessions are opened again by their ids", async (t) => {
  assert.deepEqual(await afterRestart(t, "opal", { id: "s1" }), ["session/start", { session_id: "s1", session: true }]);
});

test("a tab that does not open the session again waits for the one that does", async (t) => {
  begin(t);
  const store = new Store();
  store.link.open();
  const socket = Socket.made[0];
  socket.open({ dialect: "pi" });
  await asked();
  socket.say({ agentese: "ended", text: "exited", stderr: "", restarts: true });
  await asked();
  socket.heard.length = 0;
  socket.say({ agentese: "started", resume: false });
  t.mock.timers.tick(60_000);
  await asked();
  assert.deepEqual(socket.heard, []);
  socket.say({ agentese: "resumed" });
  await asked();
  assert.equal(socket.heard[0].type, "get_state");
});

/** Returns a page in front of opal during the opening of its first session, and the request for that session. */
async function opening(t) {
  begin(t);
  const store = new Store();
  store.link.open();
  const socket = Socket.made[0];
  socket.open({ dialect: "opal" });
  await asked();
  return { store, socket, start: socket.heard.find(({ method }) => method === "session/start") };
}

test("what is said before the first session is there goes to that session", async (t) => {
  const { store, socket, start } = await opening(t);
  void store.try("prompt", "hello", [], "prompt");
  void store.try("setThinking", "high");
  await asked();
  assert.deepEqual(socket.heard, [start]);
  socket.say({ jsonrpc: "2.0", id: start.id, result: { session_id: "s1" } });
  await asked();
  const said = socket.heard.filter(({ method }) => method === "agent/prompt" || method === "thinking/set");
  assert.deepEqual(said.map(({ method, params }) => [method, params]), [
    ["agent/prompt", { session_id: "s1", text: "hello" }],
    ["thinking/set", { session_id: "s1", level: "high" }],
  ]);
});

test("what is said while a session is opened again goes to that session", async (t) => {
  const { store, socket, start } = await opening(t);
  socket.say({ jsonrpc: "2.0", id: start.id, result: { session_id: "s1" } });
  await asked();
  socket.say({ agentese: "ended", text: "exited", stderr: "", restarts: true });
  await asked();
  socket.heard.length = 0;
  socket.say({ agentese: "started", resume: true });
  void store.try("prompt", "hello", [], "prompt");
  await asked();
  const [again, ...others] = socket.heard;
  assert.deepEqual([again.method, others], ["session/start", []]);
  socket.say({ jsonrpc: "2.0", id: again.id, result: { session_id: "s1" } });
  await asked();
  const said = socket.heard.find(({ method }) => method === "agent/prompt");
  assert.deepEqual(said?.params, { session_id: "s1", text: "hello" });
});

test("where the first session cannot be opened, the agent refuses what is said, and nothing waits on", async (t) => {
  const { store, socket, start } = await opening(t);
  const done = store.try("prompt", "hello", [], "prompt");
  socket.say({ jsonrpc: "2.0", id: start.id, error: { code: -32000, message: "no model" } });
  await asked();
  const said = socket.heard.find(({ method }) => method === "agent/prompt");
  socket.say({ jsonrpc: "2.0", id: said.id, error: { code: -32602, message: "no session" } });
  assert.equal(await done, undefined);
  assert.deepEqual(store.page.toasts.map(({ text }) => text), ["no model", "no session"]);
});

test("what is said while the agent ends and is started again goes to the session that is opened again", async (t) => {
  const { store, socket } = await opening(t);
  void store.try("prompt", "hello", [], "prompt");
  // The end of the agent fails the call that opens the session.
  socket.say({ agentese: "ended", text: "exited", stderr: "", restarts: true });
  await asked();
  socket.say({ agentese: "started", resume: true });
  await asked();
  assert.equal(socket.heard.some(({ method }) => method === "agent/prompt"), false);
  const again = socket.heard.findLast(({ method }) => method === "session/start");
  socket.say({ jsonrpc: "2.0", id: again.id, result: { session_id: "s2" } });
  await asked();
  assert.deepEqual(socket.heard.find(({ method }) => method === "agent/prompt")?.params, { session_id: "s2", text: "hello" });
});

test("what is said before an agent is known to be gone for good is refused, and nothing waits on", async (t) => {
  const { store, socket } = await opening(t);
  socket.say({ agentese: "ended", text: "exited", stderr: "", restarts: true });
  const done = store.try("prompt", "hello", [], "prompt");
  await asked();
  socket.say({ agentese: "ended", text: "exited", stderr: "", restarts: false });
  await asked();
  const said = socket.heard.find(({ method }) => method === "agent/prompt");
  socket.say({ jsonrpc: "2.0", id: said.id, error: { code: -32000, message: "the agent has ended" } });
  assert.equal(await done, undefined);
});

test("what is said while the page connects anew is sent when it has", async (t) => {
  const { store, socket, start } = await opening(t);
  socket.say({ jsonrpc: "2.0", id: start.id, result: { session_id: "s1" } });
  await asked();
  store.link.restart();
  const done = store.try("prompt", "hello", [], "prompt");
  await asked();
  const later = Socket.made[1];
  later.open({ dialect: "opal", session: "s1" });
  await asked();
  const said = later.heard.filter(({ method }) => method === "agent/prompt");
  assert.deepEqual(said.map(({ params }) => params), [{ session_id: "s1", text: "hello" }]);
  later.say({ jsonrpc: "2.0", id: said[0].id, result: { queued: false } });
  assert.deepEqual(await done, { data: { queued: false } });
});
