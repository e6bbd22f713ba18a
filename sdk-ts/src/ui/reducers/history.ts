/** Reducers that replace messages. */

import type { Conversation, Message, Usage } from "../conversation.js";
import { IDLE } from "../conversation.js";
import { isObject } from "../read.js";
import { share, without } from "../share.js";
import { type PartialMessage, changeTool, sum, textOf } from "./messages.js";
import { type Reducer, nextKey } from "./reducer.js";

/** Returns the marks that identify a message: its id or time, and its text. */
function marks(message: PartialMessage | Message): readonly string[] {
  const { role, id, time, callId, command } = message;
  const withText = `${role} words ${command ?? ""} ${callId ?? ""} ${textOf({ blocks: message.blocks ?? [] })}`;
  const place = id ?? time;
  return place === undefined ? [withText] : [`${role} ${place} ${callId ?? ""}`, withText];
}

/** Replaces the messages by those that the agent reports. Known messages keep their keys. */
export const history: Reducer = (conversation, { messages }) => {
  if (!Array.isArray(messages)) return conversation;
  const known = new Map<string, Message[]>();
  for (const message of conversation.messages) {
    for (const mark of marks(message)) known.set(mark, [...(known.get(mark) ?? []), message]);
  }
  const kept = new Set<Message>();
  let next = conversation;
  const reported: Message[] = [];
  for (const item of messages) {
    if (!isObject(item)) continue;
    const parts = item as unknown as PartialMessage;
    const old = marks(parts)
      .flatMap((mark) => known.get(mark) ?? [])
      .find((message) => !kept.has(message) && message.state !== "growing");
    let key = old?.key;
    if (key === undefined) [key, next] = nextKey(next);
    if (old !== undefined) kept.add(old);
    const message: Message = { state: "done", blocks: [], ...parts, key };
    reported.push(old === undefined ? message : share(old, { ...message, blocks: tools(old, message) }));
  }
  const used = reported.reduce<Usage>((all, { usage }) => (usage === undefined ? all : sum(all, usage)), {});
  next = {
    ...next,
    messages: share(conversation.messages, mergeMessages(conversation.messages, reported)),
    usage: (next.usage.total ?? 0) > (used.total ?? 0) ? next.usage : share(next.usage, used),
    complete: true,
  };
  return reported.reduce(copyToolResult, next);
};

/**
 * Merges the reported messages into the known ones, in the order of their arrival. Messages that the agent
 * omits are marked as outside of the model's context.
 */
function mergeMessages(old: readonly Message[], reported: readonly Message[]): Message[] {
  const places = new Map(reported.map(({ key }, place) => [key, place]));
  const known = new Set(old.map(({ key }) => key));
  const all: Message[] = [];
  let next = 0;
  const takeNew = (until: number) => {
    for (; next < until; next++) {
      const message = reported[next] as Message;
      if (!known.has(message.key)) all.push(message);
    }
  };
  for (const message of old) {
    const place = places.get(message.key);
    if (place === undefined) {
      all.push(message.state === "growing" ? message : { ...message, gone: true });
      continue;
    }
    takeNew(place);
    all.push(reported[place] as Message);
  }
  takeNew(reported.length);
  return isOrdered(all, reported) ? all : [...all.filter(({ gone }) => gone === true), ...reported, ...all.filter(({ state }) => state === "growing")];
}

/**
 * Returns `true` if the messages are in the agent's order. Summaries, which the agent puts first, keep their
 * place.
 */
function isOrdered(all: readonly Message[], reported: readonly Message[]): boolean {
  const keys = (list: readonly Message[]) => list.filter(({ role }) => role !== "summary").map(({ key }) => key);
  const wanted = keys(reported);
  const known = new Set(wanted);
  return keys(all).filter((key) => known.has(key)).every((key, place) => key === wanted[place]);
}

/**
 * Compares the number of messages with the number that the agent reports. If they differ, the conversation is
 * marked as incomplete.
 */
export const count: Reducer = (conversation, { messages }) => {
  const { complete, run } = conversation;
  const seen = conversation.messages.filter(({ gone, state }) => gone !== true && state !== "growing").length;
  const isComplete = complete && (run.working || typeof messages !== "number" || messages === seen);
  return isComplete === complete ? conversation : { ...conversation, complete: isComplete };
};

/** Returns the blocks of a message with the known state of its tools. */
function tools(old: Message, message: Message): Message["blocks"] {
  return message.blocks.map((block) => {
    if (block.type !== "tool") return block;
    const known = old.blocks.find((other) => other.type === "tool" && other.callId === block.callId);
    return known === undefined ? block : { ...known, ...block, state: known.type === "tool" ? known.state : block.state };
  });
}

/** Adds the result of a tool message to its call. */
function copyToolResult(conversation: Conversation, { role, callId, blocks, details, state }: Message): Conversation {
  if (role !== "tool" || callId === undefined) return conversation;
  const facts = details === undefined ? {} : { details };
  return changeTool(conversation, callId, { result: blocks, state: state === "failed" ? "failed" : "done", ...facts }, false);
}

/** Empties the conversation for another session. Settings of the agent remain. */
export const replace: Reducer = (conversation, { empty }) => {
  const { waiting, internal, session } = conversation;
  const { directory } = session;
  const gone = ["context", "forkPoints", "todos"].reduce<Conversation>(without, conversation);
  return {
    ...gone,
    messages: [],
    complete: empty === true,
    waiting: waiting.filter(({ state }) => state === "sent"),
    run: IDLE,
    usage: {},
    dialogs: [],
    shells: [],
    tasks: [],
    session: directory === undefined ? {} : { directory },
    internal: { ...internal, held: [] },
  };
};
