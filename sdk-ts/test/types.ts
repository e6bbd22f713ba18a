// Tests of the types: this file is compiled and never run.

import type { Extension, JsonValue } from "../src/extension.js";
import type { omp, operator } from "../src/index.js";
import { type AnyTypes, type EventOf, type RefusedError, type RpcClient, type Run, UNKNOWN, type UnknownVariant, match, opal, pi } from "../src/index.js";
import * as served from "../src/serve.js";
import { spawn } from "../src/stdio.js";

export function exhaustive(event: pi.Event): string {
  switch (event.type) {
    case "agent_start":
    case "agent_end":
    case "turn_start":
    case "turn_end":
    case "message_start":
    case "message_end":
      return event.type;
    case "message_update":
      return update(event.assistantMessageEvent);
    case "tool_execution_start":
    case "tool_execution_update":
    case "tool_execution_end":
      return event.toolName;
    case "auto_compaction_start":
      return event.reason;
    case "auto_compaction_end":
      return event.result?.summary ?? String(event.willRetry);
    case "auto_retry_start":
      return event.errorMessage;
    case "auto_retry_end":
      return event.finalError ?? "";
    case "extension_error":
      return event.error;
    case "agent_settled":
    case "compaction_start":
    case "compaction_end":
    case "summarization_retry_scheduled":
    case "summarization_retry_attempt_start":
    case "summarization_retry_finished":
    case "queue_update":
    case "entry_appended":
    case "session_info_changed":
    case "thinking_level_changed":
    case "bash_execution_update":
      return event.type;
    default: {
      const nothing: never = event;
      return nothing;
    }
  }
}

function update(kind: pi.AssistantMessageEvent): string {
  switch (kind.type) {
    case "text_delta":
    case "thinking_delta":
    case "toolcall_delta":
      return kind.delta;
    case "text_end":
    case "thinking_end":
      return kind.content;
    case "toolcall_end":
      return kind.toolCall.name;
    case "start":
    case "text_start":
    case "thinking_start":
    case "toolcall_start":
    case "done":
    case "error":
      return kind.type;
    default: {
      // `kind` can only be an undeclared kind here.
      const unknown: UnknownVariant = kind;
      const value: JsonValue | undefined = unknown["anything"];
      return `${unknown.type} ${JSON.stringify(value)}`;
    }
  }
}

export function missingCase(event: operator.Event): void {
  switch (event.type) {
    case "agent_start":
    case "turn_start":
    case "message_start":
    case "message_update":
    case "message_end":
    case "tool_execution_start":
    case "tool_execution_end":
    case "turn_end":
      return;
    default: {
      // @ts-expect-error `agent_end` is missing
      const nothing: never = event;
      return nothing;
    }
  }
}

export function typo(event: pi.Event): void {
  // @ts-expect-error there is no such event
  if (event.type === "agent_edn") return;
  // @ts-expect-error `toolName` is a member of other events
  if (event.type === "agent_end") void event.toolName;
}

export function frames(frame: pi.ServerFrame): string {
  if (frame.type === "response" && frame.success && frame.command === "get_state") return frame.data.sessionId;
  if (frame.type === "extension_ui_request" && frame.method === "select") return frame.options.join();
  return frame.type;
}

export async function params(client: pi.Client, other: omp.Client, agent: operator.Client): Promise<void> {
  const run = await client.prompt({ message: "hello" });
  await run.steer({ message: "stop" });
  await run.abort();
  const state = await client.getState();
  const session: string = state.sessionId;
  void session;
  const cycled = await client.cycleModel();
  if (cycled !== null) void cycled.model.id;
  await client.newSession();

  // @ts-expect-error `message` is missing
  await client.prompt({});
  // @ts-expect-error `message` is a string
  await client.prompt({ message: 1 });
  // @ts-expect-error there is no such parameter
  await client.prompt({ message: "hello", mesage: "x" });
  // @ts-expect-error the level is not in the closed enumeration
  await client.setThinkingLevel({ level: "extreme" });
  await client.newSession({ parentSession: undefined });
  await client.prompt({ message: "hello", images: undefined }, { signal: undefined, abortRun: true });

  // Commands that a dialect lacks are absent.
  await client.getForkMessages();
  // @ts-expect-error omp has branches
  await other.getForkMessages();
  await other.getBranchMessages();
  // @ts-expect-error pi has forks
  await client.getBranchMessages();
  // @ts-expect-error operator cannot steer
  await agent.steer({ text: "x" });
  // @ts-expect-error runs of operator cannot steer either
  await (await agent.prompt({ text: "x" })).steer({ text: "x" });
  // @ts-expect-error the prompt of operator has a text, not a message
  await agent.prompt({ message: "x" });
}

/** Commands by their wire names. */
export async function requests(client: pi.Client, any: RpcClient<AnyTypes>): Promise<void> {
  const state = await client.request("get_state");
  const session: string = state.sessionId;
  await client.request("prompt", { message: session }, { timeout: 1 });
  const undeclared: JsonValue | undefined = await client.request("teleport", { to: "mars" });
  void undeclared;
  await any.request("teleport", { to: "mars" });
  // @ts-expect-error `message` is missing
  await client.request("prompt");
  // @ts-expect-error there is no such parameter
  await client.request("prompt", { mesage: "x" });
}

/** Code for all dialects. */
export async function generic<T extends AnyTypes>(run: Run<T>, event: EventOf<T>): Promise<string[]> {
  const types: string[] = [event.type];
  for await (const each of run) types.push(each.type);
  return types;
}

export function listening(client: pi.Client, run: pi.Run): void {
  const off: () => void = client.on("tool_execution_start", (event) => void event.toolName.length);
  off();
  run.on("agent_end", (event) => void event.messages.length);
  // @ts-expect-error there is no such event
  client.on("tool_execution_started", () => undefined);
  // @ts-expect-error the event has no tool
  run.on("agent_end", (event) => void event.toolName);
}

export function failures(error: RefusedError): string {
  switch (error.kind) {
    case "no_api_key":
      return "log in";
    case "refused":
      return error.message;
    // @ts-expect-error there is no such failure
    case "no_api_keys":
      return "";
    default:
      return error.kind;
  }
}

export async function sessions(client: opal.Client): Promise<void> {
  const { session_id } = await client.sessionStart();
  const run = await client.agentPrompt({ session_id, text: "hello" });
  // The run knows its session.
  await run.abort();
  // @ts-expect-error the session is missing
  await client.agentPrompt({ text: "hello" });
}

export const revision: "0.1" = opal.revision;

export function matching(block: pi.AssistantBlock): void {
  // @ts-expect-error `toolCall` is missing
  match(block, { text: () => 1, thinking: () => 2, _: () => 3 });
  // @ts-expect-error `_` is missing
  match(block, { text: () => 1, thinking: () => 2, toolCall: () => 3 });
  // @ts-expect-error there is no such type
  match(block, { text: () => 1, thinking: () => 2, toolCall: () => 3, tolCall: () => 3, _: () => 4 });
  const sum: number = match(block, { text: () => 1, thinking: () => 2, toolCall: () => 3, _: () => 4 });
  void sum;
}

export async function started(): Promise<string> {
  const client = await spawn(pi.Client, ["pi"], { dialogs: { select: (dialog) => dialog.options[0] }, cwd: "/" });
  // @ts-expect-error a confirmation is a boolean
  await spawn(pi.Client, ["pi"], { dialogs: { confirm: () => "yes" } });
  // @ts-expect-error pi has no such dialog
  await spawn(pi.Client, ["pi"], { dialogs: { askUser: () => "yes" } });
  const run: pi.Run = await client.prompt({ message: "x" });
  for await (const event of run) {
    if (event.type === "tool_execution_start") return event.toolName;
    if (event.type === UNKNOWN) return event.name;
  }
  return "";
}

export class Agent extends served.pi.Service {
  override getLastAssistantText(): pi.LastAssistantText {
    return { text: null };
  }
  // @ts-expect-error the result of the command is not a string
  override getState(): string {
    return "";
  }
}

/** Handlers of extensions return answers of their event. */
export function extend(extension: Extension): void {
  extension.on("tool_call", async (event) => (event.toolName === "bash" ? { block: true, reason: "no" } : undefined));
  extension.on("tool_result", ({ content }) => ({ content, isError: false }));
  extension.on("input", ({ source }) => (source === "rpc" ? { action: "handled" } : { action: "transform", text: "" }));
  extension.on("context", ({ messages }) => ({ messages: messages.slice(1) }));
  extension.on("agent_end", () => undefined);
  // @ts-expect-error: a tool call is blocked, not cancelled.
  extension.on("tool_call", () => ({ cancel: true }));
  // @ts-expect-error: the result of the handler is not used.
  extension.on("agent_end", () => ({ block: true }));
  // @ts-expect-error: there is no such event.
  extension.on("tool_called", () => undefined);
  // @ts-expect-error: a turn has no tool.
  extension.on("turn_start", (event) => void event.toolName);
  // @ts-expect-error: only a command can wait for later work.
  extension.on("input", async (_event, context) => context.waitForIdle());
  extension.command({ name: "x" }, async (args, context) => {
    await context.waitForIdle();
    const chosen: "a" | "b" | undefined = await context.select(args, ["a", "b"], { signal: context.signal });
    context.notify(chosen ?? "", "warning");
    // @ts-expect-error: an entry is JSON.
    await context.appendEntry("x", () => undefined);
  });
  extension.tool<{ sides: number }>({ name: "x", description: "", parameters: {} }, ({ sides }) => sides.toFixed());
  extension.tool({ name: "x", description: "", parameters: {} }, (params): string => {
    const value: JsonValue | undefined = params["any"];
    return JSON.stringify(value);
  });
  // @ts-expect-error: a number is no result of a tool.
  extension.tool({ name: "x", description: "", parameters: {} }, () => 7);
}
