import assert from "node:assert/strict";
import { test } from "node:test";

import { REDACTED, redact } from "../src/redact.js";

test("values of secret members", () => {
  const frame = '{"method":"auth/set_key","params":{"provider":"anthropic","api_key":"very-secret"}}';
  assert.equal(redact(frame), frame.replace("very-secret", REDACTED));
  assert.equal(
    redact('{"settings":{"anthropic_api_key" : "a\\"b","tokens":3,"totalTokens":4},"token":{"x":"y"}}'),
    '{"settings":{"anthropic_api_key" : "[redacted]","tokens":3,"totalTokens":4},"token":{"x":"y"}}',
  );
});

test("strings that look like keys", () => {
  assert.equal(redact('{"text":"sk-ant-0123456789abcdefghij"}'), '{"text":"[redacted]"}');
  const plain = '{"text":"sk-short, and a sentence that goes on"}';
  assert.equal(redact(plain), plain);
});

test("broken text is no trouble", () => {
  for (const text of ["", '"', '{"apiKey":"', '{"apiKey":"x\\', '\\\\"', '{"token"']) redact(text);
  assert.ok(redact(`{"text":"${"x".repeat(20_000_000)}"}`).length > 20_000_000);
});
