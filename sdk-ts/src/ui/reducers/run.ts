/** Reducers for the activity of the agent. */

import type { Conversation, Message, Run, ToolBlock } from "../conversation.js";
import { isObject } from "../read.js";
import { share, without } from "../share.js";
import { type PartialMessage, add } from "./messages.js";
import { notify } from "./panels.js";
import type { Reducer } from "./reducer.js";

/** Sets the state of the run, and the state derived from it. */
function withRun(conversation: Conversation, run: Run): Conversation {
  const { working, aborting, compaction, retry } = run;
  let state: Run["state"] = working ? "working" : "idle";
  if (retry !== undefined && !working) state = "retrying";
  if (compaction !== undefined) state = "compacting";
  if (aborting) state = "aborting";
  const shared = share(conversation.run, { ...run, state });
  return shared === conversation.run ? conversation : { ...conversation, run: shared };
}

export const work: Reducer = (conversation, { on, error, refusal, dropped }) => {
  const { run } = conversation;
  if (typeof on !== "boolean") return conversation;
  if (on) return run.working ? conversation : withRun(conversation, without({ ...run, working: true }, "error"));
  const reported = run.aborting ? undefined : conversation.internal.failure;
  const refused = run.working && !run.aborting && typeof refusal === "string" ? refusal : undefined;
  return endRun(withFailure(conversation, undefined), (typeof error === "string" ? error : undefined) ?? reported ?? refused, dropped === true);
};

function endRun(conversation: Conversation, error: string | undefined, isDropped: boolean): Conversation {
  const { run } = conversation;
  const isGrowing = conversation.messages.some(({ state }) => state === "growing");
  if (!run.working && !isGrowing && error === undefined) return conversation;
  const ended: Run = { ...without(run, "activity"), working: false, aborting: false, ...(error === undefined ? {} : { error }) };
  return withRun(endMessages(conversation, error !== undefined, isDropped), ended);
}

/** Sets the reason for the failure of the current run. */
function withFailure(conversation: Conversation, failure: string | undefined): Conversation {
  const { internal } = conversation;
  if (internal.failure === failure) return conversation;
  return { ...conversation, internal: failure === undefined ? without(internal, "failure") : { ...internal, failure } };
}

/**
 * Updates the outcome of the run. The reason of a failure remains visible after the run has ended.
 */
export const outcome: Reducer = (conversation, { told, message }) => {
  if (told === "retried") return conversation;
  if (told !== "failed") return withFailure(conversation, undefined);
  const before = conversation.internal.failure ?? "the agent gave no reason";
  return withFailure(conversation, typeof message === "string" ? message : before);
};

/** Ends all work and removes all questions after the end of the connection. */
export function closeConversation(conversation: Conversation, reason: string): Conversation {
  const { run } = conversation;
  const rest = without(without(run, "retry"), "compaction");
  const left = withRun(withFailure(conversation, undefined), rest);
  const ended = endRun(left, run.state === "idle" ? undefined : reason, false);
  const calm = withRun(ended, ended.run);
  if (calm.dialogs.length === 0 && calm.shells.length === 0) return calm;
  return { ...calm, dialogs: [], shells: [] };
}

/** Ends the messages of a run. */
function endMessages(conversation: Conversation, hasFailed: boolean, isDropped: boolean): Conversation {
  const { run, internal } = conversation;
  const state = run.aborting ? "aborted" : hasFailed ? "failed" : "done";
  const messages = [...conversation.messages];
  for (let place = messages.length - 1; place >= 0; place--) {
    const message = messages[place] as Message;
    if (message.role === "user" && message.state !== "growing") break;
    const blocks = message.blocks.map((block) => (block.type === "tool" ? endTool(block) : block));
    const isGrowing = message.state === "growing";
    const left = isGrowing && isDropped ? { gone: true } : {};
    messages[place] = share(message, { ...message, blocks, ...left, state: isGrowing ? state : message.state });
  }
  const ended = {
    ...conversation,
    messages: share(conversation.messages, messages),
    waiting: conversation.waiting.filter(({ mode, state }) => mode !== "prompt" || state === "sent"),
    internal: internal.held.length === 0 ? internal : { ...internal, held: [] },
  };
  return internal.held.reduce(add, ended);
}

/** Ends a tool without a result. */
function endTool(block: ToolBlock): ToolBlock {
  if (block.state === "coming") return { ...block, state: "skipped" };
  return block.state === "running" ? { ...block, state: "failed" } : block;
}

export const abort: Reducer = (conversation, { over }) => {
  const { run } = conversation;
  if (over === true) return withRun(conversation, { ...run, aborting: false });
  return run.state === "idle" ? conversation : withRun(conversation, { ...run, aborting: true });
};

export const compacting: Reducer = (conversation, { reason }) =>
  withRun(conversation, { ...conversation.run, compaction: typeof reason === "string" ? { reason } : {} });

export const compacted: Reducer = (conversation, { message, error, unknown }, context) => {
  const { run } = conversation;
  // Some agents report the compaction in events, and respond to the command as well.
  if (run.compaction === undefined) return conversation;
  const { compaction: _, ...rest } = run;
  const ended = withRun(conversation, rest.working ? rest : { ...rest, aborting: false });
  const notified = typeof error === "string" ? notify(ended, { level: "error", text: error, source: context.name }, context) : ended;
  if (!isObject(message)) return unknown === true ? { ...notified, complete: false } : notified;
  const isOld = ({ role, kind }: Message) => role === "summary" && kind === message["kind"];
  const messages = notified.messages.map((known) => (isOld(known) ? { ...known, gone: true } : known));
  // The frame does not name the earlier messages that remain in the context.
  return add({ ...notified, complete: false, messages: share(notified.messages, messages) }, message as unknown as PartialMessage);
};

export const retry: Reducer = (conversation, slots, { at }) => {
  const { reason, ...members } = slots;
  const known = { ...(members as NonNullable<Run["retry"]>), ...(at === undefined ? {} : { at }) };
  // `retry` now holds the reason of the failure, so `error` is removed.
  const run = reason === "summary" ? conversation.run : without(conversation.run, "error");
  const retrying = withRun(conversation, { ...run, retry: known });
  // The agent removes the failed answer from the context before the retry.
  const last = retrying.messages.at(-1);
  if (reason === "summary" || last?.role !== "assistant" || last.state !== "failed") return retrying;
  return { ...retrying, messages: retrying.messages.with(-1, { ...last, gone: true }) };
};

export const retried: Reducer = (conversation, { error }) => {
  const { retry: _, ...rest } = conversation.run;
  const failed = typeof error === "string" ? { error } : {};
  return withRun(conversation, { ...rest, ...failed, aborting: rest.working && rest.aborting });
};

export const shell: Reducer = (conversation, { command }, { id }) => {
  const { internal, shells } = conversation;
  const known = { key: `k${internal.next}`, command: String(command ?? ""), output: "", ...(id === undefined ? {} : { id }) };
  return { ...conversation, shells: [...shells, known], internal: { ...internal, next: internal.next + 1 } };
};

export const shellOutput: Reducer = (conversation, { id, text }) => {
  const { shells } = conversation;
  const place = id === undefined ? shells.length - 1 : shells.findIndex((known) => known.id === id);
  const old = shells[place];
  if (old === undefined || typeof text !== "string") return conversation;
  return { ...conversation, shells: shells.with(place, { ...old, output: old.output + text }) };
};

export const shellDone: Reducer = (conversation, { message }, { id }) => {
  const { shells, internal, run } = conversation;
  const over = { ...conversation, shells: shells.filter((known) => known.id !== id) };
  if (!isObject(message)) return over;
  // The agent adds the message to the conversation after the current run.
  const parts = message as unknown as Message;
  return run.working ? { ...over, internal: { ...internal, held: [...internal.held, parts] } } : add(over, parts);
};
