import assert from "node:assert/strict";
import { test } from "node:test";

import type { AnyEvent } from "../src/any.js";
import { Channel } from "../src/any/channel.js";
import { size } from "../src/any/event.js";
import { failure } from "./support/agent.js";

/** Returns an event with a million characters of output of a running tool. */
const printed = (at: number): AnyEvent => ({ type: "toolUpdated", callId: "c", output: [{ type: "text", text: `${at}`.padEnd(1 << 20) }] });

test("a reader overflows by queued bytes, not by the number of events", async () => {
  const channel = new Channel<AnyEvent>(() => undefined);
  let pushed = 0;
  while (channel.push(printed(pushed), size(printed(pushed)))) assert.ok(++pushed <= 66, "64 Mi characters wait at most");
  assert.ok(pushed >= 64);
  for (let read = 0; read < pushed; read++) assert.equal((await channel.next()).done, false);
  assert.match(String(await failure(channel.next())), /64 Mi characters of events were not read/);
  const small = new Channel<AnyEvent>(() => undefined);
  const text: AnyEvent = { type: "textGrew", message: "m", block: 0, text: "a" };
  for (let at = 0; at < 400_000; at++) assert.ok(small.push(text, size(text)));
});

test("a prompt reader never overflows", async () => {
  const channel = new Channel<AnyEvent>(() => undefined);
  for (let at = 0; at < 200; at++) {
    assert.ok(channel.push(printed(at), size(printed(at))));
    await channel.next();
  }
});
