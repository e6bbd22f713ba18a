/** Reducers for messages and their blocks. */

import type { JsonObject } from "../../generated/types.js";
import type { Block, Conversation, Message, PendingInput, ToolBlock, Usage } from "../conversation.js";
import { isObject } from "../read.js";
import { replaced, share, without } from "../share.js";
import { type Reducer, idText, nextKey } from "./reducer.js";

/** Message in the form that a reader returns. */
export type PartialMessage = Partial<Message> & Pick<Message, "role">;

/** Appends a message. */
export function add(conversation: Conversation, parts: PartialMessage): Conversation {
  const [key, keyed] = nextKey(conversation);
  const message: Message = { state: "done", blocks: [], ...parts, key };
  const added = { ...keyed, messages: [...keyed.messages, message] };
  return message.role === "user" ? removePending(added, textOf(message)) : added;
}

/** Returns the text of a message. */
export function textOf({ blocks }: Pick<Message, "blocks">): string {
  return blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
}

/** Removes user input from the list of waiting input, after it became part of the conversation. */
function removePending(conversation: Conversation, text: string): Conversation {
  const { waiting } = conversation;
  const same = waiting.findIndex((item) => item.text === text);
  // The agent may have expanded a template or a skill, so the message differs from the prompt.
  const place = same >= 0 ? same : waiting.findIndex((item) => item.mode === "prompt");
  return place < 0 ? conversation : { ...conversation, waiting: waiting.toSpliced(place, 1) };
}

/**
 * Moves waiting input into the conversation: the input of the answered command, or of all prompts.
 */
export const arrive: Reducer = (conversation, _slots, { id }) => {
  const isMeant = ({ mode, id: known }: PendingInput) => mode === "prompt" && (id === undefined || idText(known) === idText(id));
  const texts = conversation.waiting.filter(isMeant).map(({ text }) => text);
  return texts.reduce((next, text) => add(next, { role: "user", blocks: text === "" ? [] : [{ type: "text", text }] }), conversation);
};

/** Replaces the message at an index. */
function replaceMessage(conversation: Conversation, place: number, message: Message): Conversation {
  const messages = replaced(conversation.messages, place, message);
  return messages === conversation.messages ? conversation : { ...conversation, messages };
}

/** Returns the index of the last growing message of a role; -1 if there is no such message. */
function growingIndex({ messages }: Conversation, role: Message["role"]): number {
  return messages.findLastIndex((message) => message.state === "growing" && message.role === role);
}

/** Returns the updated blocks, whose tool blocks keep their state. */
function carryToolState(old: readonly Block[], blocks: readonly Block[]): readonly Block[] {
  return blocks.map((block, place) => {
    if (block.type !== "tool") return share(old[place], block);
    const isSame = (other: Block | undefined) => other?.type === "tool" && other.callId === block.callId;
    const known = (isSame(old[place]) ? old[place] : old.find(isSame)) as ToolBlock | undefined;
    if (known === undefined) return block;
    const { arguments: _, argumentsText: __, ...done } = known;
    const state = known.state === "coming" ? block.state : known.state;
    return share(known, { ...done, ...block, state });
  });
}

/** Returns a message with the updated parts. */
function updateMessage(old: Message, parts: PartialMessage, state: Message["state"]): Message {
  const blocks = carryToolState(old.blocks, parts.blocks ?? []);
  return share(old, { ...parts, blocks, key: old.key, state, ...(old.gone === true ? { gone: true } : {}) });
}

function messageOf(slots: JsonObject): PartialMessage | undefined {
  const { message } = slots;
  return isObject(message) ? (message as unknown as PartialMessage) : undefined;
}

export const beginMessage: Reducer = (conversation, slots) => {
  const parts = messageOf(slots);
  return parts === undefined ? conversation : add(conversation, { ...parts, state: "growing" });
};

export const snapshot: Reducer = (conversation, slots) => {
  const parts = messageOf(slots);
  if (parts === undefined) return conversation;
  const place = growingIndex(conversation, parts.role);
  const old = conversation.messages[place];
  if (old === undefined) return add(conversation, { ...parts, state: "growing" });
  return replaceMessage(conversation, place, updateMessage(old, parts, "growing"));
};

/** Changes the growing message of the model. Creates the message if it is missing. */
function grow(conversation: Conversation, change: (message: Message) => Message): Conversation {
  const place = growingIndex(conversation, "assistant");
  const old = conversation.messages[place];
  if (old !== undefined) return replaceMessage(conversation, place, change(old));
  const added = add(conversation, { role: "assistant", state: "growing" });
  const last = added.messages.length - 1;
  return replaceMessage(added, last, change(added.messages[last] as Message));
}

/**
 * Changes the block at the given index, or the last block. If that block does not exist or has
 * another type, creates a new one.
 */
function changeBlock(message: Message, slots: JsonObject, change: (block: JsonObject) => JsonObject): Message {
  const blocks = [...message.blocks];
  const { index, type } = slots;
  const last = blocks.length - 1;
  const isNamed = typeof index === "number" && Number.isInteger(index) && index >= 0;
  const place = isNamed ? Math.min(index, blocks.length) : blocks[last]?.type === type ? last : last + 1;
  const old = blocks[place];
  const isTool = type === "tool";
  const fresh: JsonObject = isTool ? { type: "tool", callId: "", name: "", state: "coming" } : { type: type ?? "text", text: "" };
  const base = old?.type === type ? (old as unknown as JsonObject) : fresh;
  blocks[place] = share(old, change(base) as unknown as Block);
  return { ...message, blocks };
}

/** Bindings whose new values are appended to the old text. */
const GROWING = ["text", "argumentsText"];

export const piece: Reducer = (conversation, slots) =>
  grow(conversation, (message) =>
    changeBlock(message, slots, (block) => {
      const { index: _, ...members } = slots;
      for (const name of GROWING) {
        const [known, more] = [block[name], members[name]];
        if (typeof known === "string" && typeof more === "string") members[name] = known + more;
      }
      return { ...block, ...members };
    }),
  );

export const block: Reducer = (conversation, slots) =>
  grow(conversation, (message) =>
    changeBlock(message, slots, (block) => {
      const { index: _, ...members } = slots;
      const whole = { ...block, ...members };
      return "arguments" in members ? without(whole, "argumentsText") : whole;
    }),
  );

export const changeMessage: Reducer = (conversation, slots) => {
  const place = growingIndex(conversation, "assistant");
  const old = conversation.messages[place];
  return old === undefined ? conversation : replaceMessage(conversation, place, share(old, { ...old, ...(slots as Partial<Message>) }));
};

export const end: Reducer = (conversation, slots) => {
  const parts = messageOf(slots);
  const place = growingIndex(conversation, parts?.role ?? "assistant");
  const old = conversation.messages[place];
  if (old === undefined && parts === undefined) return conversation;
  let ended: Conversation;
  if (old === undefined) ended = add(conversation, parts as PartialMessage);
  else ended = replaceMessage(conversation, place, parts === undefined ? { ...old, state: "done" } : updateMessage(old, parts, parts.state ?? "done"));
  const message = (old === undefined ? ended.messages.at(-1) : ended.messages[place]) as Message;
  if (message.role === "tool") return copyResult(markResultGone(ended, message), message);
  return message.usage === undefined ? ended : { ...ended, usage: sum(ended.usage, message.usage) };
};

/** Marks a tool result as outside of the model's context if its call is outside. */
function markResultGone(conversation: Conversation, result: Message): Conversation {
  const isCall = (block: Block) => block.type === "tool" && block.callId === result.callId;
  const call = conversation.messages.findLast(({ blocks }) => blocks.some(isCall));
  if (call?.gone !== true) return conversation;
  return replaceMessage(conversation, conversation.messages.lastIndexOf(result), { ...result, gone: true });
}

/** Copies the result of a tool message into the block of its call. */
function copyResult(conversation: Conversation, { callId, blocks, details, state }: Message): Conversation {
  const isFailed = state === "failed";
  const done = { result: blocks, state: isFailed ? "failed" : "done", ...(details === undefined ? {} : { details }) };
  return callId === undefined ? conversation : changeTool(conversation, callId, done as Partial<ToolBlock>, false);
}

/** Returns the sum of two usages. */
export function sum(one: Usage, other: Usage): Usage {
  const total: Record<string, number> = {};
  for (const [name, number] of [...Object.entries(one), ...Object.entries(other)]) {
    // Cost details belong to single messages, so they are not added.
    if (typeof number === "number") total[name] = (total[name] ?? 0) + number;
  }
  return total;
}

export const tool: Reducer = (conversation, slots) => {
  const { callId } = slots;
  return typeof callId === "string" ? changeTool(conversation, callId, slots as Partial<ToolBlock>, true) : conversation;
};

/** Returns `true` if a tool has ended. */
const isEnded = (state: ToolBlock["state"]) => state !== "coming" && state !== "running";

/**
 * Changes the block of a tool call. If it does not exist, creates it if `createIfMissing` is `true`.
 */
export function changeTool(conversation: Conversation, callId: string, members: Partial<ToolBlock>, createIfMissing: boolean): Conversation {
  const { messages } = conversation;
  for (let place = messages.length - 1; place >= 0; place--) {
    const message = messages[place] as Message;
    const at = message.blocks.findIndex((block) => block.type === "tool" && block.callId === callId);
    if (at < 0) continue;
    const old = message.blocks[at] as ToolBlock;
    const state = members.state === undefined || (isEnded(old.state) && !isEnded(members.state)) ? old.state : members.state;
    const changed = share(old, { ...old, ...members, state });
    return changed === old ? conversation : replaceMessage(conversation, place, { ...message, blocks: message.blocks.with(at, changed) });
  }
  if (!createIfMissing) return conversation;
  const made: ToolBlock = { type: "tool", name: "", state: "coming", ...members, callId };
  const last = messages.findLastIndex(({ role }) => role !== "tool");
  const message = messages[last];
  if (message?.role !== "assistant") return add(conversation, { role: "assistant", blocks: [made] });
  return replaceMessage(conversation, last, { ...message, blocks: [...message.blocks, made] });
}
