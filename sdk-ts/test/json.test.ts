import assert from "node:assert/strict";
import { test } from "node:test";

import { DecodeError } from "../src/error.js";
import { Framer } from "../src/framing.js";
import { LAZY_FROM, parse, parseObject, stringify } from "../src/json.js";
import { MAX_DEPTH, StringCache, scanMembers } from "../src/scan.js";

const long = "x".repeat(LAZY_FROM);

/** Parses a text in two ways, as a whole and member by member, and returns both objects. */
function both(text: string): unknown[] {
  const padded = text.replace(/\}\s*$/, `${/^\s*\{\s*\}/.test(text) ? "" : ","}"padding":"${long}"}`);
  const { padding, ...rest } = parseObject(padded);
  assert.equal(padding, long);
  return [parseObject(text), rest];
}

test("long objects look like others, at every level", () => {
  const value = {
    type: "message_update",
    inner: { delta: "d", "\u00e4\"": 1, partial: { text: `${long}"\\`, list: [1, { a: null }] } },
    list: [long, 1, { b: true }],
    small: { a: [{}] },
    empty: "",
  };
  const text = JSON.stringify(value);
  const object = parseObject(text);
  assert.deepEqual(Object.keys(object), Object.keys(value));
  assert.equal((object["inner"] as { delta: string }).delta, "d");
  assert.equal(object["inner"], object["inner"], "a member is parsed once");
  assert.deepEqual({ ...parseObject(text) }, value);
  assert.equal(JSON.stringify(parseObject(text)), text);
  assert.deepEqual(structuredClone(parseObject(text)), value);
  assert.deepEqual(parseObject(JSON.stringify(value, null, 2)), value);
});

test("members can be replaced before they are looked at", () => {
  const object = parseObject(JSON.stringify({ a: { b: long } }));
  object["a"] = 1;
  assert.deepEqual(object, { a: 1 });
  Object.assign(object, { a: undefined });
  assert.equal(object["a"], undefined);
});

test("fm_F17 the last of two members counts", () => {
  for (const value of both('{"a":1,"b":2,"a":3}')) assert.deepEqual(value, { a: 3, b: 2 });
  const twice = `{"a":{"b":"${long}"},"a":1}`;
  assert.deepEqual(parseObject(twice), { a: 1 });
  assert.deepEqual(parseObject(`{"a":1,"a":{"b":"${long}"}}`), { a: { b: long } });
});

test("fm_F18 numbers up to 2^53 are exact", () => {
  for (const value of both('{"tokens":9007199254740991,"time":1767225600123,"minus":-0.5}')) {
    assert.deepEqual(value, { tokens: 9007199254740991, time: 1767225600123, minus: -0.5 });
  }
});

test("fm_F10 lone surrogates become the replacement character and are never written", () => {
  for (const value of both('{"a":"x\\ud800y","b":"\\ud83e\\udd80","\\udc00":1,"c":["\\uDFFF"]}')) {
    assert.deepEqual(value, { a: "x\ufffdy", b: "🦀", c: ["\ufffd"], ...(value as object), });
    assert.equal((value as { a: string }).a, "x\ufffdy");
  }
  assert.equal(stringify({ a: "x\ud800y", b: "\\ud800", c: ["🦀"] }), '{"a":"x\ufffdy","b":"\\\\ud800","c":["🦀"]}');
  assert.equal(parse('"\\\\ud800"'), "\\ud800");
});

test("fm_F11 control characters are escaped on output", () => {
  assert.equal(stringify({ a: "\0\n\u001b" }), '{"a":"\\u0000\\n\\u001b"}');
});

test("fm_F16 deep nesting is refused without overflow", () => {
  const deep = (levels: number): string => `{"a":${"[".repeat(levels)}${"]".repeat(levels)},"p":"${long}"}`;
  assert.ok(parseObject(deep(MAX_DEPTH - 1)));
  for (const text of [deep(MAX_DEPTH), deep(100_000), `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`]) {
    assert.throws(() => parseObject(text), DecodeError);
  }
});

test("broken long lines are refused", () => {
  for (const text of ["{", '{"a"', '{"a":', '{"a":1', '{"a":[1', "{a:1}", '{"a" 1}', '{"a":}', '{"a":1,}', "{,}", "{} x", "{}{}", "[1]", ""]) {
    const padded = text.padEnd(text.length + LAZY_FROM);
    assert.equal(typeof scanMembers(padded), "string", text);
    assert.throws(() => parseObject(padded), DecodeError, text);
  }
});

test("a broken long member is refused when it is looked at, with the line", () => {
  const text = `{"type":"a","b":{"c":[1,"${long}" 2]}}`;
  const object = parseObject(text);
  assert.equal(object["type"], "a");
  assert.throws(() => object["b"] && (object["b"] as { c: unknown }).c, (error) => error instanceof DecodeError && error.raw === text);
});

test("halves of surrogate pairs become U+FFFD wherever the stream is cut", () => {
  const lines = ['{"a":"plain"}', String.raw`{"a":"\ud800"}`, '{"a":"plain"}', String.raw`{"b":"\uDC00 and \ud83e\udd80"}`];
  const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
  for (let at = 0; at <= bytes.length; at++) {
    const framer = new Framer();
    const found: unknown[] = [];
    const sink = { line: (text: string) => void found.push(parseObject(text, framer)), error: assert.fail };
    framer.push(bytes.slice(0, at), sink);
    framer.push(bytes.slice(at), sink);
    assert.deepEqual(found, [{ a: "plain" }, { a: "\ufffd" }, { a: "plain" }, { b: "\ufffd and 🦀" }], `cut at ${at}`);
  }
});

test("earlier reads do not change later lookups", () => {
  const ends = ["", "\\", "\\\\", '"', '\\"', "\n", "\u2028", "x"];
  let random = 7;
  const next = (below: number): number => (random = (random * 48_271) % 0x7fffffff) % below;
  const seen = new StringCache();
  const texts = ["", ""];
  for (let round = 0; round < 3_000; round++) {
    const at = next(2);
    // The text usually grows. Sometimes it is replaced by another text, or by a part of the
    // previous one.
    const before = texts[at] ?? "";
    const grown = next(9) === 0 ? before.slice(0, next(before.length + 1)) : next(40) === 0 ? "y".repeat(next(3_000)) : before;
    texts[at] = grown.slice(-20_000) + "word ".repeat(next(60)) + (ends[next(ends.length)] ?? "");
    const block = { type: "text", text: texts[at], other: texts[1 - at] };
    const line = JSON.stringify({ type: "message_update", event: { delta: "d", partial: block }, message: block, again: texts });
    assert.deepEqual(scanMembers(line, seen), scanMembers(line));
    const cut = line.slice(0, next(line.length));
    assert.deepEqual(scanMembers(cut, seen), scanMembers(cut));
  }
});

test("cached strings do not retain much longer lines", () => {
  const seen = new StringCache();
  const part = "word ".repeat(400);
  const others = Array.from({ length: 50 }, (_, at) => "x".repeat(900 + at));
  scanMembers(JSON.stringify({ part, others }), seen);
  assert.equal(seen.size, 0);
  const line = JSON.stringify({ part, again: part });
  scanMembers(line, seen);
  assert.ok(seen.size >= line.length && seen.size <= 4 * line.length, `${seen.size}`);
});

test("short and long objects are nested equally deep", () => {
  for (const more of ["", `,"p":"${long}"`]) {
    for (const [open, close] of [["[", "]"], ['{"a":', "}"]] as const) {
      const nested = (levels: number): string => `{"a":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}${more}}`;
      assert.ok(parseObject(nested(MAX_DEPTH)));
      assert.throws(() => parseObject(nested(MAX_DEPTH + 1)), /127 levels/);
    }
  }
});
