import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Framer, type FramerOptions, type LineSink } from "../src/framing.js";
import { asciiText } from "../src/utf8.js";
import { readText } from "./support/files.js";

type Outcome = { line: string } | { error: string; offset: number; bytes: number };

interface Vector {
  name: string;
  row: string;
  chunks: string[];
  options?: { max_line?: number; keep_bom?: boolean };
  expect: Outcome[];
}

const vectors = JSON.parse(readText("conformance", "vectors", "framing.json")) as Vector[];

class Collector implements LineSink {
  readonly seen: Outcome[] = [];
  line(text: string): void {
    this.seen.push({ line: text });
  }
  error(error: { reason: string; offset: number; bytes: number }): void {
    this.seen.push({ error: error.reason, offset: error.offset, bytes: error.bytes });
  }
}

function framed(chunks: Iterable<Uint8Array>, options: FramerOptions): Outcome[] {
  const framer = new Framer(options);
  const sink = new Collector();
  for (const chunk of chunks) framer.push(chunk, sink);
  framer.finish(sink);
  return sink.seen;
}

function* bytewise(stream: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < stream.length; at++) yield stream.subarray(at, at + 1);
}

describe("framing vectors", () => {
  for (const vector of vectors) {
    test(`fm_${vector.row} ${vector.name}`, () => {
      const chunks = vector.chunks.map((chunk) => new Uint8Array(Buffer.from(chunk, "base64")));
      const { max_line: maxLine, keep_bom: keepBom } = vector.options ?? {};
      const options = { maxLine, keepBom };
      assert.deepEqual(framed(chunks, options), vector.expect);
      const stream = new Uint8Array(Buffer.concat(chunks));
      assert.deepEqual(framed([stream], options), vector.expect, "unsplit");
      assert.deepEqual(framed(bytewise(stream), options), vector.expect, "byte by byte");
      for (let at = 0; at <= stream.length; at++) {
        const split = [stream.subarray(0, at), stream.subarray(at)];
        assert.deepEqual(framed(split, options), vector.expect, `split at ${at}`);
      }
    });
  }
});

/**
 * Returns the expected lines and errors of a stream. This reference is written without regard
 * for chunks or speed.
 */
function expected(stream: Buffer, maxLine: number, keepBom: boolean): Outcome[] {
  const outcomes: Outcome[] = [];
  let offset = 0;
  while (offset < stream.length) {
    const at = stream.indexOf(10, offset);
    const end = at < 0 ? stream.length : at;
    const cr = at >= 0 && end > offset && stream[end - 1] === 13;
    const line = stream.subarray(offset, cr ? end - 1 : end);
    if (line.length > maxLine) {
      outcomes.push({ error: "too_long", offset, bytes: maxLine });
    } else {
      let text = line.toString("utf8");
      if (!Buffer.from(text).equals(line)) {
        let sound = 0;
        while (Buffer.from(line.subarray(0, sound + 1).toString("utf8")).equals(line.subarray(0, sound + 1)) || tears(line, sound)) sound++;
        // Goes back to the last complete character.
        while (!Buffer.from(line.subarray(0, sound).toString("utf8")).equals(line.subarray(0, sound))) sound--;
        outcomes.push({ error: "invalid_utf8", offset, bytes: sound });
      } else {
        if (offset === 0 && !keepBom && text.startsWith("\ufeff")) text = text.slice(1);
        outcomes.push({ line: text });
      }
    }
    offset = at < 0 ? stream.length : at + 1;
  }
  return outcomes;
}

/** Returns `true` if the bytes up to `at` end with an incomplete character. */
function tears(line: Buffer, at: number): boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    decoder.decode(line.subarray(0, at + 1), { stream: true });
    return at + 1 <= line.length - 1;
  } catch {
    return false;
  }
}

/** Returns a random number generator with a seed, so that a failure can be reproduced. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("fm_F01 any chunking gives the frames of the reference rules", () => {
  const pieces = ["\n", "\n", "\r", "\r\n", "abc", '{"a":1}', "ä", "€", "🦀", "\ufeff", "\u2028"].map((piece) => Buffer.from(piece));
  pieces.push(Buffer.from([0xff]), Buffer.from([0xc3]), Buffer.from([0xe2, 0x82]), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from([0x80]));
  for (let seed = 1; seed <= 3000; seed++) {
    const next = random(seed);
    const stream = Buffer.concat(Array.from({ length: next(30) }, () => pieces[next(pieces.length)] ?? Buffer.alloc(0)));
    const maxLine = next(3) === 0 ? 1 << 20 : next(12);
    const keepBom = next(2) === 0;
    const cuts = Array.from({ length: next(8) }, () => next(stream.length + 1)).sort((a, b) => a - b);
    const chunks = [0, ...cuts].map((from, index) => new Uint8Array(stream.subarray(from, cuts[index] ?? stream.length)));
    assert.deepEqual(framed(chunks, { maxLine, keepBom }), expected(stream, maxLine, keepBom), `seed ${seed}`);
  }
});

test("the short way to text is taken for ASCII alone, and gives the same", () => {
  assert.equal(asciiText(new TextEncoder().encode("text")), "text", "Node has it");
  const next = random(5);
  for (let round = 0; round < 2000; round++) {
    const bytes = new Uint8Array(next(70) + 4).map(() => next(128));
    assert.equal(asciiText(bytes.subarray(2)), new TextDecoder().decode(bytes.subarray(2)));
    bytes[2 + next(bytes.length - 2)] = 128 + next(128);
    assert.equal(asciiText(bytes.subarray(2)), undefined);
  }
  // Node stores strings of this length in another form.
  const long = "x".repeat(3 << 20);
  assert.ok(asciiText(new TextEncoder().encode(long)) === long);
});

test("fm_F12 a discarded line occupies no memory", () => {
  const framer = new Framer({ maxLine: 1024 * 1024 });
  const sink = new Collector();
  const chunk = new Uint8Array(256 * 1024).fill(0x78);
  for (let n = 0; n < 400; n++) {
    framer.push(chunk, sink);
    assert.ok(framer.buffered <= 1024 * 1024);
  }
  assert.equal(sink.seen.length, 1);
  assert.equal(framer.buffered, 0);
  framer.push(new TextEncoder().encode("end\nnext\n"), sink);
  assert.deepEqual(sink.seen.at(-1), { line: "next" });
  assert.equal(framer.offset, 400 * 256 * 1024 + 9);
});

test("fm_F13 large frames arrive whole", () => {
  for (const mebibytes of [1, 16, 63]) {
    const frame = "ä".repeat(mebibytes * 512 * 1024);
    const stream = new TextEncoder().encode(`small\n${frame}\nsmall\n`);
    const framer = new Framer();
    const sink = new Collector();
    for (let at = 0; at < stream.length; at += 65_536) framer.push(stream.subarray(at, at + 65_536), sink);
    framer.finish(sink);
    assert.equal(sink.seen.length, 3);
    // `deepEqual` is avoided, because its report of a difference would be too long to read.
    const large = sink.seen[1];
    assert.ok(large !== undefined && "line" in large && large.line === frame);
  }
});

test("fm_F132 a finished framer starts anew", () => {
  const framer = new Framer({ maxLine: 4 });
  const sink = new Collector();
  framer.push(new TextEncoder().encode("far too long"), sink);
  assert.equal(framer.finish(sink), true);
  framer.push(new TextEncoder().encode("\ufeffb\n"), sink);
  assert.equal(framer.finish(sink), false);
  assert.deepEqual(sink.seen, [{ error: "too_long", offset: 0, bytes: 4 }, { line: "b" }]);
});
