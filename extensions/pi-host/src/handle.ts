/**
 * Combination of the handlers of one event: chained answers, and answers that end the sequence.
 *
 * The agent queries one extension after the other; this module covers the handlers of one extension.
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

/** Handling of one event by one extension. */
export interface Round {
  readonly handlers: readonly Handler[];
  readonly context: Context;
  /** Aborts when the agent withdraws the request. */
  readonly signal: AbortSignal;
  /** Receives the exception of a handler; the other handlers still run. */
  failed(error: unknown): void;
}

type Event<K> = Extract<HookEvent, { type: K }>;
type Chain = (event: never, round: Round) => Promise<HookAnswer | undefined>;

/** Runs the handlers of an event one after the other. */
export async function handle(event: HookEvent, round: Round): Promise<HookAnswer | undefined> {
  const chain = CHAINS[event.type] ?? all;
  return chain(event as never, round);
}

const CHAINS: Partial<Record<string, Chain>> = {
  resources_discover: resourcesDiscover as Chain,
  session_before_switch: cancellable as Chain,
  session_before_fork: cancellable as Chain,
  session_before_compact: cancellable as Chain,
  input: input as Chain,
  before_agent_start: beforeAgentStart as Chain,
  context: context as Chain,
  tool_call: toolCall as Chain,
  tool_result: toolResult as Chain,
  user_bash: userBash as Chain,
};

/** Calls a handler. Its exception is reported and treated as a missing answer. */
async function call<A>(handler: Handler, event: unknown, round: Round): Promise<A | undefined> {
  try {
    return (await handler(event, round.context)) as A | undefined;
  } catch (error) {
    round.failed(error);
    return undefined;
  }
}

/** Runs all handlers and ignores their answers. */
async function all(event: HookEvent, round: Round): Promise<undefined> {
  for (const handler of round.handlers) await call(handler, event, round);
  return undefined;
}

/** Joins the paths of all answers in order. */
async function resourcesDiscover(
  event: Event<"resources_discover">,
  round: Round,
): Promise<ResourcesDiscoverAnswer | undefined> {
  const skillPaths: string[] = [];
  const promptPaths: string[] = [];
  const themePaths: string[] = [];
  for (const handler of round.handlers) {
    const answer = await call<ResourcesDiscoverAnswer>(handler, event, round);
    skillPaths.push(...(answer?.skillPaths ?? []));
    promptPaths.push(...(answer?.promptPaths ?? []));
    themePaths.push(...(answer?.themePaths ?? []));
  }
  return { skillPaths, promptPaths, themePaths };
}

/** Returns the last answer; an answer that cancels ends the sequence. */
async function cancellable(event: HookEvent, round: Round): Promise<HookAnswer | undefined> {
  const asked = event.type === "session_before_compact" ? { ...event, signal: round.signal } : event;
  let last: { cancel?: boolean } | undefined;
  for (const handler of round.handlers) {
    const answer = await call<{ cancel?: boolean }>(handler, asked, round);
    if (answer) last = answer;
    if (answer?.cancel === true) break;
  }
  return last;
}

/**
 * Passes the transformed input from handler to handler; an answer that handles or rejects the input ends the
 * sequence.
 */
async function input(event: Event<"input">, round: Round): Promise<InputAnswer | undefined> {
  let now = event;
  for (const handler of round.handlers) {
    const answer = await call<InputAnswer>(handler, now, round);
    if (answer?.action === "handled") return { action: "handled" };
    if (answer?.action === "refuse") return answer;
    if (answer?.action !== "transform") continue;
    const images = answer.images ?? now.images;
    now = { ...now, text: answer.text ?? now.text, ...(images === undefined ? {} : { images }) };
  }
  if (now === event) return undefined;
  return { action: "transform", text: now.text, ...(now.images === undefined ? {} : { images: now.images }) };
}

/** Chains the system prompts. The protocol allows one message per extension. */
async function beforeAgentStart(
  event: Event<"before_agent_start">,
  round: Round,
): Promise<BeforeAgentStartAnswer | undefined> {
  const result: BeforeAgentStartAnswer = {};
  for (const handler of round.handlers) {
    const systemPrompt = result.systemPrompt ?? event.systemPrompt;
    const answer = await call<BeforeAgentStartAnswer>(handler, { ...event, systemPrompt }, round);
    if (answer?.systemPrompt !== undefined) result.systemPrompt = answer.systemPrompt;
    if (answer?.message === undefined) continue;
    if (result.message === undefined) result.message = answer.message;
    else round.failed(new Error("agentese-pi-host does not support a second message of an extension before a run"));
  }
  return Object.keys(result).length === 0 ? undefined : result;
}

/** Chains the messages; a handler may also modify them in place. */
async function context(event: Event<"context">, round: Round): Promise<ContextAnswer | undefined> {
  const before = JSON.stringify(event.messages);
  let { messages } = event;
  for (const handler of round.handlers) {
    const answer = await call<ContextAnswer>(handler, { ...event, messages }, round);
    if (answer?.messages !== undefined) messages = answer.messages;
  }
  return JSON.stringify(messages) === before ? undefined : { messages };
}

/**
 * Returns the last answer; an answer that blocks ends the sequence. A handler that throws blocks the tool.
 */
async function toolCall(event: Event<"tool_call">, round: Round): Promise<ToolCallAnswer | undefined> {
  let last: ToolCallAnswer | undefined;
  for (const handler of round.handlers) {
    const answer = (await handler(event, round.context)) as ToolCallAnswer | undefined;
    if (answer) last = answer;
    if (answer?.block === true) break;
  }
  return last && { block: last.block === true, ...(last.reason === undefined ? {} : { reason: last.reason }) };
}

/** Chains the results; members that an answer omits stay unchanged. */
async function toolResult(event: Event<"tool_result">, round: Round): Promise<ToolResultAnswer | undefined> {
  let change: ToolResultAnswer = {};
  for (const handler of round.handlers) {
    const answer = await call<ToolResultAnswer>(handler, { ...event, ...change }, round);
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
 * Returns the first answer. This process runs the operations of an extension, and the agent receives their
 * result.
 */
async function userBash(event: Event<"user_bash">, round: Round): Promise<HookAnswer | undefined> {
  for (const handler of round.handlers) {
    const answer = await call<UserBashResult>(handler, event, round);
    if (!answer) continue;
    if (answer.result !== undefined) return { result: answer.result };
    if (answer.operations === undefined) return undefined;
    return { result: await runBash(answer.operations, event, round.signal) };
  }
  return undefined;
}
