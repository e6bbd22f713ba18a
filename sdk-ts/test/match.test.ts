import assert from "node:assert/strict";
import { test } from "node:test";

import { type pi, UNKNOWN, type UnknownEvent, match } from "../src/index.js";

function show(block: pi.AssistantBlock): string {
  return match(block, {
    text: (block) => block.text,
    thinking: (block) => block.thinking,
    toolCall: (block) => block.name,
    _: (block) => `a new ${block.type}`,
  });
}

test("the arm that belongs to the type is called", () => {
  assert.equal(show({ type: "text", text: "hello" }), "hello");
  assert.equal(show({ type: "sparkle" } as never), "a new sparkle");
  assert.equal(show({ type: "toString" } as never), "a new toString");
});

test("unknown events go to the last arm", () => {
  const event: pi.AgentStart | UnknownEvent = { type: UNKNOWN, name: "weather", value: {} };
  const name = match(event as pi.AgentStart | UnknownEvent, {
    agent_start: () => "start",
    _: (other) => ("name" in other ? other.name : other.type),
  });
  assert.equal(name, "weather");
});
