/**
 * Calls the handlers of one extension for an event, and combines their answers. An answer may be passed to
 * the next handler, or end the sequence.
 *
 * The agent itself queries the extensions one after the other.
 */

import type { Context } from "./context.js";
import type { Handler } from "./extension.js";
import { runBash, type UserBashResult } from "./operations.js";
import type {
  BeforeAgentStartAnswer,
  ContextAnswer,
  HookAnswer,
  HookEvent,
  InputAnswer,
  ResourcesDiscoverAnswer,
  ToolCallAnswer,
  ToolResultAnswer,
} from "./protocol.js";

/** Context in which the handlers of one extension process an event. */
export interface HandlerRun {
  readonly handlers: readonly Handler[];
  readonly context: Context;
  /** Aborts when the agent withdraws the request. */
  readonly signal: AbortSignal;
  /** Receives the exception of a handler; the other handlers still run. */
  onError(error: unknown): void;
}

type Event<K> = Extract<HookEvent, { type: K }>;
type HandlerChain = (event: never, run: HandlerRun) => Promise<HookAnswer | undefined>;

/** Runs the handlers of an event one after the other. */
export async function handle(event: HookEvent, run: HandlerRun): Promise<HookAnswer | undefined> {
  const chain = CHAINS[event.type] ?? runAll;
  return chain(event as never, run);
}

const CHAINS: Partial<Record<string, HandlerChain>> = {
  resources_discover: resourcesDiscover as HandlerChain,
  session_before_switch: cancellable as HandlerChain,
  session_before_fork: cancellable as HandlerChain,
  session_before_compact: cancellable as HandlerChain,
  input: input as HandlerChain,
  before_agent_start: beforeAgentStart as HandlerChain,
  context: context as HandlerChain,
  tool_call: toolCall as HandlerChain,
  tool_result: toolResult as HandlerChain,
  user_bash: userBash as HandlerChain,
};

/** Calls a handler. Its exception is reported and treated as a missing answer. */
async function call<A>(handler: Handler, event: unknown, run: HandlerRun): Promise<A | undefined> {
  try {
    return (await handler(event, run.context)) as A | undefined;
  } catch (error) {
    run.onError(error);
    return undefined;
  }
}

/** Runs all handlers and ignores their answers. */
async function runAll(event: HookEvent, run: HandlerRun): Promise<undefined> {
  for (const handler of run.handlers) await call(handler, event, run);
  return undefined;
}

/** Joins the resource paths in all answers, in order. */
async function resourcesDiscover(
  event: Event<"resources_discover">,
  run: HandlerRun,
): Promise<ResourcesDiscoverAnswer | undefined> {
  const skillPaths: string[] = [];
  const promptPaths: string[] = [];
  const themePaths: string[] = [];
  for (const handler of run.handlers) {
    const answer = await call<ResourcesDiscoverAnswer>(handler, event, run);
    skillPaths.push(...(answer?.skillPaths ?? []));
    promptPaths.push(...(answer?.promptPaths ?? []));
    themePaths.push(...(answer?.themePaths ?? []));
  }
  return { skillPaths, promptPaths, themePaths };
}

/** Returns the last answer; an answer that cancels ends the sequence. */
async function cancellable(event: HookEvent, run: HandlerRun): Promise<HookAnswer | undefined> {
  const asked = event.type === "session_before_compact" ? { ...event, signal: run.signal } : event;
  let last: { cancel?: boolean } | undefined;
  for (const handler of run.handlers) {
    const answer = await call<{ cancel?: boolean }>(handler, asked, run);
    if (answer) last = answer;
    if (answer?.cancel === true) break;
  }
  return last;
}

/**
 * Passes the input through all handlers, each of which may transform it. An answer that handles or rejects
 * the input ends the sequence.
 */
async function input(event: Event<"input">, run: HandlerRun): Promise<InputAnswer | undefined> {
  let now = event;
  for (const handler of run.handlers) {
    const answer = await call<InputAnswer>(handler, now, run);
    if (answer?.action === "handled") return { action: "handled" };
    if (answer?.action === "refuse") return answer;
    if (answer?.action !== "transform") continue;
    const images = answer.images ?? now.images;
    now = { ...now, text: answer.text ?? now.text, ...(images === undefined ? {} : { images }) };
  }
  if (now === event) return undefined;
  return { action: "transform", text: now.text, ...(now.images === undefined ? {} : { images: now.images }) };
}

/** Passes the system prompt from handler to handler. The protocol allows one message per extension. */
async function beforeAgentStart(
  event: Event<"before_agent_start">,
  run: HandlerRun,
): Promise<BeforeAgentStartAnswer | undefined> {
  const result: BeforeAgentStartAnswer = {};
  for (const handler of run.handlers) {
    const systemPrompt = result.systemPrompt ?? event.systemPrompt;
    const answer = await call<BeforeAgentStartAnswer>(handler, { ...event, systemPrompt }, run);
    if (answer?.systemPrompt !== undefined) result.systemPrompt = answer.systemPrompt;
    if (answer?.message === undefined) continue;
    if (result.message === undefined) result.message = answer.message;
    else run.onError(new Error("agentese-pi-host does not support a second message of an extension before a run"));
  }
  return Object.keys(result).length === 0 ? undefined : result;
}

/** Passes the messages from handler to handler. A handler may also modify them in place. */
async function context(event: Event<"context">, run: HandlerRun): Promise<ContextAnswer | undefined> {
  const before = JSON.stringify(event.messages);
  let { messages } = event;
  for (const handler of run.handlers) {
    const answer = await call<ContextAnswer>(handler, { ...event, messages }, run);
    if (answer?.messages !== undefined) messages = answer.messages;
  }
  return JSON.stringify(messages) === before ? undefined : { messages };
}

/**
 * Returns the last answer; an answer that blocks ends the sequence. A handler that throws blocks the tool.
 */
async function toolCall(event: Event<"tool_call">, run: HandlerRun): Promise<ToolCallAnswer | undefined> {
  let last: ToolCallAnswer | undefined;
  for (const handler of run.handlers) {
    const answer = (await handler(event, run.context)) as ToolCallAnswer | undefined;
    if (answer) last = answer;
    if (answer?.block === true) break;
  }
  return last && { block: last.block === true, ...(last.reason === undefined ? {} : { reason: last.reason }) };
}

/** Passes the result from handler to handler. Members that an answer omits stay unchanged. */
async function toolResult(event: Event<"tool_result">, run: HandlerRun): Promise<ToolResultAnswer | undefined> {
  let change: ToolResultAnswer = {};
  for (const handler of run.handlers) {
    const answer = await call<ToolResultAnswer>(handler, { ...event, ...change }, run);
    if (!answer) continue;
    const { content, details, isError } = answer;
    change = {
      ...change,
      ...(content === undefined ? {} : { content }),
      ...(details === undefined ? {} : { details }),
      ...(isError === undefined ? {} : { isError }),
    };
  }
  return Object.keys(change).length === 0 ? undefined : change;
}

/**
 * Returns the first answer. If the extension supplies operations, this process runs the command with them,
 * and the agent receives the result.
 */
async function userBash(event: Event<"user_bash">, run: HandlerRun): Promise<HookAnswer | undefined> {
  for (const handler of run.handlers) {
    const answer = await call<UserBashResult>(handler, event, run);
    if (!answer) continue;
    if (answer.result !== undefined) return { result: answer.result };
    if (answer.operations === undefined) return undefined;
    return { result: await runBash(answer.operations, event, run.signal) };
  }
  return undefined;
}
