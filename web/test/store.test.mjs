// What the page asks for when its agent was started again.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Socket, Store, begin } from "./support/memory.mjs";

/** Resolves when the page has asked for all that it can ask for without an answer. */
const asked = () => new Promise((resolve) => setImmediate(resolve));

/** The first command after an agent was started again that had said this of its session. */
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
