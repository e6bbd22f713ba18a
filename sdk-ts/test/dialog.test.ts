import assert from "node:assert/strict";
import { test } from "node:test";

import { answerLine, policyLine } from "../src/dialog.js";
import { opal, pi } from "../src/generated/index.js";

test("answers in both framings", () => {
  const flat = answerLine(pi.spec, '"u"', "select", { value: "Allow" });
  assert.equal(flat, '{"type":"extension_ui_response","id":"u","value":"Allow"}');
  const rpc = answerLine(opal.spec, '"s2c-1"', "client/ask_user", { answer: "blue" });
  assert.equal(rpc, '{"jsonrpc":"2.0","id":"s2c-1","result":{"answer":"blue"}}');
});

test("fm_F21 the policy dismisses, rejects or reports a missing handler", () => {
  const dismissed = '{"type":"extension_ui_response","id":"u","cancelled":true}';
  assert.equal(policyLine(pi.spec, '"u"', "select"), dismissed);
  assert.equal(policyLine(pi.spec, '"u"', "never_heard_of"), dismissed);
  assert.equal(policyLine(pi.spec, '"u"', "constructor"), dismissed);
  assert.equal(policyLine(pi.spec, '"u"', "notify"), undefined);
  assert.match(policyLine(opal.spec, "1", "client/confirm") ?? "", /deny/);
  assert.match(policyLine(opal.spec, "1", "client/input") ?? "", /-32000/);
  assert.match(policyLine(opal.spec, "1", "client/else") ?? "", /-32601/);
});
