// Model on loopback for the Anthropic messages format. Its answer depends only on the latest user input, so
// additional requests of an agent do not matter.
import { createServer } from "node:http";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";

/** Answers of the model by the text of the prompt. The drivers use the same texts. */
const ANSWERS = {
  "use a tool": (tools) => ({ thinking: ["I should ", "look."], text: ["I look."], tool: shell(tools) }),
  "speak slowly": () => ({ text: words(40), delay: 50 }),
  "be overloaded": () => ({ error: { status: 529, type: "overloaded_error", message: "Overloaded" } }),
  "fill the context": () => ({ text: ["It is full."], input: 190_000 }),
  // The next answers are for the example programs: work that is interrupted, and five of ten answers that
  // are too late.
  "Begin with the work": () => ({ text: words(40), delay: 50 }),
  ...Object.fromEntries([1, 3, 5, 7, 9].map((n) => [`Tell me about ${n}`, () => ({ text: words(2400), delay: 50 })])),
  // The next answers are for omp. Its rule about the text interrupts the answer, and its list of open tasks
  // triggers a reminder.
  "say the word": () => ({ text: ["The word ", "is ", "forbidden", ", so ", "I do ", "not say it."], delay: 50 }),
  "leave things open": () => ({ text: ["Two tasks."], tool: { name: "todo_write", input: { _i: "planning", ops: TASKS } } }),
};

function words(count) {
  return Array.from({ length: count }, (_, at) => `word ${at} `);
}

const TASKS = [{ op: "replace", phases: [{ name: "Work", tasks: ["one", "two"].map((content) => ({ content, status: "pending" })) }] }];

/** Returns a call of the agent's shell tool, with the argument names that the agent declares. */
function shell(tools) {
  const tool = tools.find(({ name }) => name === "bash") ?? tools[0];
  const values = { command: "echo from the tool" };
  for (const name of tool?.input_schema?.required ?? []) values[name] ??= "looking";
  return { name: tool?.name ?? "bash", input: values };
}

function texts(content) {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? block.text : block.type === "tool_result" ? texts(block.content ?? "") : "")).join("\n");
}

/** Returns the answer to a request. */
function answer({ messages, tools = [] }) {
  const last = messages.at(-1);
  if (Array.isArray(last.content) && last.content.some((block) => block.type === "tool_result")) {
    return { text: ["The tool said: ", texts(last.content.filter((block) => block.type === "tool_result")).trim()] };
  }
  const said = texts(last.content).trim();
  const known = Object.keys(ANSWERS).find((words) => said.startsWith(words));
  return known === undefined ? { text: ["You said: ", said.split("\n")[0].slice(0, 60)] } : ANSWERS[known](tools);
}

let calls = 0;

/** Returns the events of an answer, in the order of the format. */
function* events({ thinking, text, tool, input = 1000 }, request) {
  const id = `msg_${++calls}`;
  const usage = { input_tokens: input, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const message = { id, type: "message", role: "assistant", model: request.model, content: [], stop_reason: null, stop_sequence: null, usage };
  yield { type: "message_start", message };
  let index = 0;
  function* block(start, deltas) {
    yield { type: "content_block_start", index, content_block: start };
    for (const delta of deltas) yield { type: "content_block_delta", index, delta };
    yield { type: "content_block_stop", index };
    index += 1;
  }
  if (thinking && request.thinking?.type === "enabled") {
    const deltas = thinking.map((piece) => ({ type: "thinking_delta", thinking: piece }));
    yield* block({ type: "thinking", thinking: "", signature: "" }, [...deltas, { type: "signature_delta", signature: "c2lnbmVk" }]);
  }
  yield* block({ type: "text", text: "" }, text.map((piece) => ({ type: "text_delta", text: piece })));
  if (tool) {
    const start = { type: "tool_use", id: `toolu_${calls}`, name: tool.name, input: {} };
    const json = JSON.stringify(tool.input);
    const middle = json.length >> 1;
    yield* block(start, [json.slice(0, middle), json.slice(middle)].map((piece) => ({ type: "input_json_delta", partial_json: piece })));
  }
  yield { type: "message_delta", delta: { stop_reason: tool ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 20 } };
  yield { type: "message_stop" };
}

async function respond(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  const { error, delay = 0, ...said } = answer(body);
  if (error) {
    // The header disables the retries of the provider's own library, because the agent must retry.
    response.writeHead(error.status, { "content-type": "application/json", "x-should-retry": "false" });
    return response.end(JSON.stringify({ type: "error", error: { type: error.type, message: error.message } }));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events(said, body)) {
    if (response.closed) return;
    if (delay && event.type === "content_block_delta") await pause(delay);
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

/** Starts the model on a free port. */
export async function startModel() {
  const server = createServer((request, response) => {
    respond(request, response).catch((error) => response.destroy(error));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
