// Requests that the types must reject. If one of them were accepted, the types would check
// nothing.
import type { Completion, Content, Messages, Response } from "./types";

const messages = (_: Messages): void => {};
const completion = (_: Completion): void => {};
const response = (_: Response): void => {};
const content = (_: Content): void => {};
const MESSAGES = { model: "m", max_tokens: 1, stream: true } as const;

// @ts-expect-error a member that the API does not have
messages({ ...MESSAGES, messages: [], novel: 1 });
// @ts-expect-error a role that the API does not have
messages({ ...MESSAGES, messages: [{ role: "tool", content: "x" }] });
// @ts-expect-error a block without its content
messages({ ...MESSAGES, messages: [{ role: "user", content: [{ type: "tool_result", id: "x" }] }] });
// @ts-expect-error a member that the API does not have
completion({ model: "m", stream: true, messages: [], max_output_tokens: 1 });
// @ts-expect-error a result without the id of its call
completion({ model: "m", stream: true, messages: [{ role: "tool", content: "x" }] });
// @ts-expect-error a member that the API does not have
response({ model: "m", stream: true, input: [], messages: [] });
// @ts-expect-error a call without its id
response({ model: "m", stream: true, input: [{ type: "function_call", name: "x", arguments: "{}" }] });
// @ts-expect-error a member that the API does not have
content({ contents: [], messages: [] });
// @ts-expect-error a part that the API does not have
content({ contents: [{ role: "user", parts: [{ image: "x" }] }] });
// @ts-expect-error a level that the API does not have
content({ contents: [], generationConfig: { thinkingConfig: { thinkingLevel: "most" } } });
