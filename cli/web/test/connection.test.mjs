// Tests of the page's connection to its server, with a socket in memory.

import assert from "node:assert/strict";
import { test } from "node:test";

import { DIALECTS, ServerConnection, Socket, installBrowser } from "./support/memory.mjs";

/**
 * Returns an open connection to an agent of a dialect. `last` returns its current socket; `back` resumes
 * the connection after a loss and returns the lines that the page then sent.
 */
function connect(t, dialect = "pi") {
  installBrowser(t);
  const link = new ServerConnection({ message() {}, frame() {}, state() {} });
  link.spec = DIALECTS[dialect].spec;
  link.open();
  const last = () => Socket.made.at(-1);
  last().open({});
  const back = () => {
    t.mock.timers.tick(10_000);
    last().open({ back: true });
    return last().received;
  };
  return { link, last, back };
}

const ANSWER = { type: "extension_ui_response", id: "q1", confirmed: true };

test("an answer that is given while the connection is lost is sent when it is back", (t) => {
  const { link, last, back } = connect(t);
  last().close();
  link.answer(ANSWER);
  assert.deepEqual(back(), [ANSWER]);
});

test("an answer that may be lost with the connection is sent again, until a later call is answered", async (t) => {
  const { link, last, back } = connect(t);
  link.answer(ANSWER);
  last().close();
  assert.deepEqual(back(), [ANSWER]);
  const call = link.call("get_state", {});
  last().deliver({ id: last().received.at(-1).id, type: "response", command: "get_state", success: true, data: {} });
  await call;
  last().close();
  assert.deepEqual(back(), []);
});

test("no answer is sent to an agent that was started again", (t) => {
  const { link, last, back } = connect(t);
  link.answer(ANSWER);
  last().deliver({ agentese: "ended", text: "exited", stderr: "", restarts: true });
  last().close();
  assert.deepEqual(back(), []);
});

for (const [dialect, answer, isUnknown] of [
  ["pi", { type: "response", command: "get_tree", success: false, error: "Unknown command: get_tree" }, true],
  ["pi", { type: "response", command: "get_tree", success: false, error: "An extension says: unknown command" }, false],
  ["operator", { type: "response", command: "get_tree", success: false, error: "Unknown command: 'get_tree'" }, true],
  ["opal", { jsonrpc: "2.0", error: { code: -32601, message: "Method not found: get_tree" } }, true],
  ["opal", { jsonrpc: "2.0", error: { code: -32603, message: "Method not found: get_tree" } }, false],
]) {
  test(`${dialect}: ${JSON.stringify(answer.error)} ${isUnknown ? "says" : "does not say"} that the command is not known`, async (t) => {
    const { link, last } = connect(t, dialect);
    const call = link.call("get_tree", {});
    last().deliver({ ...answer, id: last().received.at(-1).id });
    await assert.rejects(call, { name: "CallError", command: "get_tree", isUnknown });
  });
}
