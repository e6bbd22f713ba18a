// The four model APIs on loopback, as far as the agent needs them. The first answer to a prompt has reasoning, a text
// and a tool call; the answer to results is a text. The body of each request is stored.
import { once } from "node:events";
import { createServer } from "node:http";

/** Prompts that are answered with a tool call. */
const CALLS = {
  "use a tool, please": { name: "bash", args: { command: "echo from the tool" } },
  "look at the picture": { name: "read", args: { path: "picture.png" } },
  "fail, please": { name: "read", args: { path: "missing" } },
};

const serialized = (body) => JSON.stringify(body);
const called = (text) => Object.entries(CALLS).find(([words]) => text.includes(`"${words}"`))?.[1];

/**
 * Properties of each API: its path, a check if the newest message is a tool result, the text of that result,
 * and the events of an answer.
 */
const APIS = [
  {
    name: "anthropic-messages",
    path: /\/v1\/messages$/,
    last: (body) => body.messages.at(-1).content,
    isResult: (last) => Array.isArray(last) && last.some(({ type }) => type === "tool_result"),
    events: (call) => [
      { type: "message_start", message: { id: "msg_1", usage: { input_tokens: 10, output_tokens: 1 } } },
      ...(call === undefined
        ? []
        : [
            { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
            { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } },
            { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } },
            { type: "content_block_stop", index: 0 },
          ]),
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Well." } },
      { type: "content_block_stop", index: 1 },
      ...(call === undefined
        ? []
        : [
            { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "toolu_1", name: call.name, input: {} } },
            { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: serialized(call.args) } },
            { type: "content_block_stop", index: 2 },
          ]),
      { type: "message_delta", delta: { stop_reason: call === undefined ? "end_turn" : "tool_use" }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ],
  },
  {
    name: "openai-completions",
    path: /\/chat\/completions$/,
    last: (body) => body.messages.findLast(({ role }) => role === "tool" || role === "user"),
    isResult: (last) => last.role === "tool",
    events: (call) => [
      { choices: [{ delta: { content: "Well." } }] },
      ...(call === undefined
        ? []
        : [{ choices: [{ delta: { tool_calls: [{ index: 0, id: "call_1", function: { name: call.name, arguments: serialized(call.args) } }] } }] }]),
      { choices: [{ delta: {}, finish_reason: call === undefined ? "stop" : "tool_calls" }] },
      { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } },
    ],
  },
  {
    name: "openai-responses",
    path: /\/responses$/,
    last: (body) => body.input.at(-1),
    isResult: (last) => last.type === "function_call_output",
    events: (call) => {
      const reasoning = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "c2ln" };
      const message = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Well.", annotations: [] }] };
      const items = call === undefined ? [message] : [reasoning, message, { type: "function_call", id: "fc_1", call_id: "call_1", name: call.name, arguments: serialized(call.args), status: "completed" }];
      return [
        ...items.flatMap((item, output_index) => [
          { type: "response.output_item.added", output_index, item: { ...item, summary: [], content: [] } },
          { type: "response.output_item.done", output_index, item },
        ]),
        { type: "response.completed", response: { id: "resp_1", status: "completed", usage: { input_tokens: 10, output_tokens: 5 } } },
      ];
    },
  },
  {
    name: "google-generative-ai",
    path: /:streamGenerateContent/,
    last: (body) => body.contents.at(-1).parts,
    isResult: (last) => last.some((part) => part.functionResponse !== undefined),
    events: (call) => {
      const thought = [{ text: "hm", thought: true, thoughtSignature: "c2ln" }];
      const calls = call === undefined ? [] : [{ functionCall: { id: "f1", name: call.name, args: call.args }, thoughtSignature: "c2ln" }];
      const parts = [...(call === undefined ? [] : thought), { text: "Well." }, ...calls];
      return [{ candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }], usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 } }];
    },
  },
];

export const NAMES = APIS.map(({ name }) => name);

/** Starts the model; returns its port and the received requests. */
export async function start() {
  const requests = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    const body = JSON.parse(text);
    const api = APIS.find(({ path }) => path.test(request.url.split("?")[0]));
    requests.push({ api: api.name, body });
    const last = api.last(body);
    const call = api.isResult(last) ? undefined : called(JSON.stringify(last));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(api.events(call).map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: server.address().port, requests, close: () => server.close() };
}
