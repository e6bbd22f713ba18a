/**
 * How the handlers of one event work together: which answers chain, and which end it.
 *
 * The agent asks one extension after the other; what stands here is about the handlers of one.
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

/** The handling of one event by one extension. */
export interface Round {
  readonly handlers: readonly Handler[];
  readonly context: Context;
  /** Ends where the agent takes its question back. */
  readonly signal: AbortSignal;
  /** Takes what a handler threw; the others go on. */
  failed(error: unknown): void;
}

type Event<K> = Extract<HookEvent, { type: K }>;
type Chain = (event: never, round: Round) => Promise<HookAnswer | undefined>;

/** Runs the handlers of an event, one after the other. */
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

/** Calls a handler; what it throws is reported and counts as no answer. */
async function call<A>(handler: Handler, event: unknown, round: Round): Promise<A | undefined> {
  try {
    return (await handler(event, round.context)) as A | undefined;
  } catch (error) {
    round.failed(error);
    return undefined;
  }
}

/** Nobody's answer counts. */
async function all(event: HookEvent, round: Round): Promise<undefined> {
  for (const handler of round.handlers) await call(handler, event, round);
  return undefined;
}

/** What all of them name, in their order. */
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

/** The last answer counts, and the first that cancels ends it. */
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

/** Each handler sees what the one before made of the words; the first that deals with them or refuses them ends it. */
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

/** System prompts chain. The protocol has room for one message of an extension. */
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

/** Messages chain; a handler may also change them in place. */
async function context(event: Event<"context">, round: Round): Promise<ContextAnswer | undefined> {
  const before = JSON.stringify(event.messages);
  let { messages } = event;
  for (const handler of round.handlers) {
    const answer = await call<ContextAnswer>(handler, { ...event, messages }, round);
    if (answer?.messages !== undefined) messages = answer.messages;
  }
  return JSON.stringify(messages) === before ? undefined : { messages };
}

/** The last answer counts, and the first that blocks ends it. A handler that throws blocks the tool. */
async function toolCall(event: Event<"tool_call">, round: Round): Promise<ToolCallAnswer | undefined> {
  let last: ToolCallAnswer | undefined;
  for (const handler of round.handlers) {
    const answer = (await handler(event, round.context)) as ToolCallAnswer | undefined;
    if (answer) last = answer;
    if (answer?.block === true) break;
  }
  return last && { block: last.block === true, ...(last.reason === undefined ? {} : { reason: last.reason }) };
}

/** Results chain; what is missing in an answer stays as it is. */
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

/** The first answer counts. Operations of an extension run here; the agent gets what came of them. */
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
