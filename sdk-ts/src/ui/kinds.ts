/** Types of the members of a conversation. A value of another type is treated as absent. */

import type { JsonObject, JsonValue } from "../generated/types.js";

const text = (value: JsonValue): boolean => typeof value === "string";
const number = (value: JsonValue): boolean => typeof value === "number";
const yesOrNo = (value: JsonValue): boolean => typeof value === "boolean";
const texts = (value: JsonValue): boolean => Array.isArray(value) && value.every(text);

/** Type of each member whose value is copied from a frame. Members that are not listed accept any value. */
const KINDS = new Map<string, (value: JsonValue) => boolean>([
  ...["title", "text", "placeholder", "prefill", "name", "thinkingLevel", "callId", "argumentsText", "source", "key", "label", "kind"].map(
    (name) => [name, text] as const,
  ),
  ...["provider", "api", "stopReason", "mimeType", "data", "signature", "description", "baseUrl", "placement", "command", "status"].map(
    (name) => [name, text] as const,
  ),
  ...["session.id", "session.file", "session.name", "session.directory", "run.activity"].map((name) => [name, text] as const),
  ...["timeoutMs", "index", "durationMs", "time", "exitCode", "tokensBefore", "context.tokens", "context.window", "window"].map(
    (name) => [name, number] as const,
  ),
  ...["maxTokens", "cacheRead", "cacheWrite", "total", "cost", "attempt", "maxAttempts", "delayMs"].map((name) => [name, number] as const),
  ...["secret", "redacted", "cancelled", "truncated", "hidden", "reasoning", "on"].map((name) => [name, yesOrNo] as const),
  ...["options", "lines", "steering", "followUp", "levels"].map((name) => [name, texts] as const),
]);

/** Returns `true` if a member with this name may have that value. */
export function fits(name: string, value: JsonValue): boolean {
  return KINDS.get(name)?.(value) ?? true;
}

/** Required members of the objects that a reader returns, by the name of the reader. */
const REQUIRED = new Map<string, readonly string[]>(
  Object.entries({ model: ["id"], command: ["name"], fork: ["id", "text"], todo: ["text"], task: ["text"] }),
);

/** Default members of a block, by its type, for values that the frame does not contain. */
const BLOCKS = new Map<JsonValue | undefined, JsonObject>([
  ["text", { text: "" }],
  ["thinking", { text: "" }],
  ["image", { mimeType: "", data: "" }],
  ["tool", { callId: "", name: "", state: "coming" }],
]);

/**
 * Adds the default members to an object that a reader returned. Returns `undefined` if a required member is
 * missing.
 */
export function withDefaults(reader: string, made: JsonObject): JsonObject | undefined {
  const lacks = REQUIRED.get(reader)?.some((name) => typeof made[name] !== "string");
  if (lacks === true) return undefined;
  if ("role" in made) return asMessage(made);
  const always = BLOCKS.get(made["type"]);
  if (always === undefined) return made;
  for (const [name, value] of Object.entries(always)) made[name] ??= value;
  return made;
}

/**
 * Removes `id` and `model` from a message unless they are strings. In other objects, members with these names
 * have other types.
 */
function asMessage({ id, model, ...others }: JsonObject): JsonObject {
  return { ...others, ...(typeof id === "string" && { id }), ...(typeof model === "string" && { model }) };
}
