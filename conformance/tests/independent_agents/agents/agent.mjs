#!/usr/bin/env node
// A chat agent on Node, without dependencies: prompt, abort, get_state, get_messages, get_last_assistant_text, set_session_name.
import { randomUUID } from "node:crypto";

const url = process.env.CHAT_MODEL_URL;
const model = {
  id: "pebble", name: "Pebble", api: "anthropic-messages", provider: "quarry", baseUrl: url, reasoning: false, input: ["text"],
  contextWindow: 64000, maxTokens: 4096, cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
};
const session = { id: randomUUID(), name: undefined };
const messages = [];
let run = null;

const send = (frame) => process.stdout.write(JSON.stringify(frame) + "\n");

function usage(input, output) {
  const cost = { input: (model.cost.input * input) / 1e6, output: (model.cost.output * output) / 1e6, cacheRead: 0, cacheWrite: 0 };
  return { input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output, cost: { ...cost, total: cost.input + cost.output } };
}

const texts = (message) => message.content.map((block) => block.text).join("");

function state() {
  return {
    model, thinkingLevel: "off", isStreaming: run !== null, isCompacting: false, steeringMode: "all", followUpMode: "all",
    sessionId: session.id, ...(session.name && { sessionName: session.name }), autoCompactionEnabled: false,
    messageCount: messages.length, pendingMessageCount: 0,
  };
}

async function* events(signal) {
  const history = messages.filter((message) => message.content.length > 0);
  const response = await fetch(new URL("/v1/messages", url), {
    method: "POST", signal,
    headers: { "content-type": "application/json", "x-api-key": "none", "anthropic-version": "2023-06-01" },
    body: JSON.stringify({
      model: model.id, max_tokens: model.maxTokens, stream: true,
      messages: history.map(({ role, content }) => ({ role, content })),
    }),
  });
  if (!response.ok) throw new Error(`the model answered ${response.status}: ${await response.text()}`);
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data:")) yield JSON.parse(line.slice(5));
  }
}

async function answerWith(answer, signal) {
  const update = (type, more) =>
    send({ type: "message_update", message: answer, assistantMessageEvent: { type, contentIndex: 0, partial: answer, ...more } });
  let tokens = 0;
  for await (const event of events(signal)) {
    if (event.type === "error") throw new Error(event.error.message);
    if (event.type === "message_start") {
      tokens = event.message.usage.input_tokens;
      answer.usage = usage(tokens, event.message.usage.output_tokens);
    }
    if (event.type === "content_block_start") {
      answer.content.push({ type: "text", text: "" });
      update("text_start");
    }
    if (event.type === "content_block_delta") {
      answer.content[0].text += event.delta.text;
      update("text_delta", { delta: event.delta.text });
    }
    if (event.type === "content_block_stop") update("text_end", { content: texts(answer) });
    if (event.type === "message_delta") answer.usage = usage(tokens, event.usage.output_tokens);
    if (event.type === "message_stop") return;
  }
  throw new Error("the model's answer broke off");
}

async function prompt(text, signal) {
  const user = { role: "user", content: text, timestamp: Date.now() };
  const answer = {
    role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, usage: usage(0, 0),
    stopReason: "stop", timestamp: Date.now(),
  };
  send({ type: "agent_start" });
  send({ type: "turn_start" });
  send({ type: "message_start", message: user });
  send({ type: "message_end", message: user });
  messages.push(user);
  send({ type: "message_start", message: answer });
  try {
    await answerWith(answer, signal);
  } catch (error) {
    Object.assign(answer, { stopReason: signal.aborted ? "aborted" : "error", errorMessage: error.message });
  }
  messages.push(answer);
  send({ type: "message_end", message: answer });
  send({ type: "turn_end", message: answer, toolResults: [] });
  run = null;
  send({ type: "agent_end", messages: [user, answer] });
}

const commands = {
  get_state: () => ({ data: state() }),
  get_messages: () => ({ data: { messages } }),
  get_last_assistant_text: () => {
    const last = messages.findLast((message) => message.role === "assistant");
    return { data: { text: last ? texts(last) : null } };
  },
  set_session_name: ({ name }) => {
    if (typeof name !== "string" || name.trim() === "") throw new Error("Session name cannot be empty");
    session.name = name.trim();
    return {};
  },
  abort: async () => {
    run?.stop.abort();
    await run?.over;
    return {};
  },
  prompt: ({ message }) => {
    if (typeof message !== "string") throw new Error("message is not a string");
    if (run) throw new Error("the agent is already working; wait for agent_end");
    const stop = new AbortController();
    run = { stop };
    return { begin: () => { run.over = prompt(message, stop.signal); } };
  },
};

async function handle(line) {
  let command;
  try {
    command = JSON.parse(line);
    if (typeof command?.type !== "string") throw new Error("a command has a type");
  } catch (error) {
    return send({ type: "response", command: "parse", success: false, error: `Failed to parse command: ${error.message}` });
  }
  const head = { ...("id" in command && { id: command.id }), type: "response", command: command.type };
  try {
    if (!Object.hasOwn(commands, command.type)) throw new Error(`Unknown command: ${command.type}`);
    const { begin, data } = await commands[command.type](command);
    send({ ...head, success: true, ...(data && { data }) });
    begin?.();
  } catch (error) {
    send({ ...head, success: false, error: error.message });
  }
}

// Only a line feed ends a line. Node's `readline` also splits at U+2028, so it is not used.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
let parts = [];
process.stdin.on("data", (chunk) => {
  for (let at; (at = chunk.indexOf(10)) >= 0; chunk = chunk.subarray(at + 1)) {
    const line = decoder.decode(Buffer.concat([...parts, chunk.subarray(0, at)]));
    parts = [];
    if (line.trim() !== "") handle(line);
  }
  if (chunk.length > 0) parts.push(chunk);
});
process.stdin.on("end", () => {
  const line = decoder.decode(Buffer.concat(parts));
  if (line.trim() !== "") handle(line);
});
