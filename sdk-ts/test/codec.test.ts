import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { check } from "../src/check.js";
import { decodeClient, decodeServer, encode, encodeFrame } from "../src/codec.js";
import { DecodeError } from "../src/error.js";
import { FramingError } from "../src/framing.js";
import * as dialects from "../src/generated/index.js";
import { shapes } from "../src/generated/shapes.js";
import type { JsonObject } from "../src/generated/types.js";
import { route } from "../src/route.js";
import type { AnyTypes, Spec } from "../src/spec.js";
import { readTranscript, recordedLine } from "../src/transcript.js";
import { exceptions, transcripts } from "./support/files.js";

const specs = Object.fromEntries(Object.values(dialects).map((dialect) => [dialect.dialect, dialect.spec])) as Record<
  string,
  Spec<AnyTypes>
>;

describe("every recorded frame", () => {
  const odd = exceptions();
  for (const { dialect, scenario, text } of transcripts()) {
    test(`${dialect}/${scenario} comes back as it was`, () => {
      const spec = specs[dialect];
      assert.ok(spec !== undefined);
      const count = { c2s: 0, s2c: 0 };
      for (const record of readTranscript(text).records) {
        const line = recordedLine(record);
        if (line === undefined || !("dir" in record)) continue;
        const side = record.dir as "c2s" | "s2c";
        count[side]++;
        const bytes = new TextEncoder().encode(line);
        const decode = side === "s2c" ? decodeServer<AnyTypes> : decodeClient<AnyTypes>;
        const excepted = odd.has(`${dialect}/${scenario} ${side === "s2c" ? "server" : "client"} ${count[side]}`);
        let decoded;
        try {
          decoded = decode(spec, bytes);
        } catch (error) {
          assert.ok(excepted && error instanceof DecodeError, `${side} ${count[side]}: ${String(error)}`);
          continue;
        }
        assert.deepEqual(encode(decoded), bytes, "bytes");
        const view = decoded.known ? decoded.frame : decoded.value;
        assert.deepEqual(JSON.parse(encodeFrame(view)), JSON.parse(line), "value");
        // Real agents send events and dialogs that are newer than their documents. All other frames must be
        // declared.
        if (!decoded.known) assert.ok(excepted || decoded.kind === "event" || decoded.kind === "dialog", `${side} ${count[side]}: ${line.slice(0, 200)}`);
        if (side === "s2c" && decoded.known && !excepted) fits(spec, view as JsonObject, line);
      }
    });
  }
});

/** Checks that an event fits its declared type. */
function fits(spec: Spec<AnyTypes>, frame: JsonObject, line: string): void {
  const routed = route(spec, frame, line);
  if (routed.kind !== "event") return;
  const type = Object.entries(shapes).find(([name, shape]) => {
    const tag = "members" in shape ? shape.members["type"] : undefined;
    return tag !== undefined && "value" in tag && tag.value === routed.type && belongs(spec, name);
  });
  assert.ok(type !== undefined, `no type for ${routed.type}`);
  assert.equal(check(shapes, type[0], routed.body), undefined, line.slice(0, 300));
}

function belongs(spec: Spec<AnyTypes>, name: string): boolean {
  const own = ["opal", "operator"].find((prefix) => name.toLowerCase().startsWith(prefix));
  return own === undefined ? !["opal", "operator"].includes(spec.name) : own === spec.name;
}

test("fm_F20 undeclared events are unknown events with their bytes", () => {
  const event = '{"type":"weather","sky":"blue" , "n":1.0}';
  assert.deepEqual(decodeServer(dialects.pi.spec, event), {
    known: false,
    kind: "event",
    type: "weather",
    value: { type: "weather", sky: "blue", n: 1 },
    raw: event,
  });
  const dialog = '{"type":"extension_ui_request","id":"1","method":"dance"}';
  assert.equal(decodeServer(dialects.pi.spec, dialog).known, false);
  const command = '{"id":"1","type":"teleport"}';
  assert.equal(decodeClient(dialects.pi.spec, command).known, false);
  // Members that every JavaScript object inherits are no events.
  assert.equal(decodeServer(dialects.pi.spec, '{"type":"constructor"}').known, false);
  assert.equal(decodeServer(dialects.pi.spec, '{"type":"__proto__"}').known, false);
});

test("fm_F19 lines that are no frames are refused with the line", () => {
  for (const line of ["[1]", '"text"', "12", "null", "", "not json", '{"no":"type"}', '{"type":"response"}']) {
    assert.throws(
      () => decodeServer(dialects.pi.spec, line),
      (error) => error instanceof DecodeError && error.kind === "decode" && error.raw === line,
      line,
    );
  }
});

test("fm_F08 bytes that are not utf-8 are refused with their offset", () => {
  assert.throws(
    () => decodeServer(dialects.pi.spec, new Uint8Array([0x7b, 0x22, 0xff])),
    (error) => error instanceof FramingError && error.reason === "invalid_utf8" && error.bytes === 2,
  );
});
