/**
 * Reducers for everything besides the messages: queue, dialogs, notices, status, settings,
 * tasks.
 */

import type { JsonObject, JsonValue } from "../../generated/types.js";
import type { Conversation, Notice, OpenQuestion, PendingInput, Task, Usage, Widget } from "../conversation.js";
import { isObject } from "../read.js";
import { share, without } from "../share.js";
import { changeTool } from "./messages.js";
import { type Reducer, type ReducerContext, idText, nextKey } from "./reducer.js";

/** Maximum number of stored notices. */
const NOTICES = 100;

const optional = <T>(name: string, value: T | undefined): Record<string, T> => (value === undefined ? {} : { [name]: value });

export const wait: Reducer = (conversation, { text, images, mode }, { id }) => {
  const [key, keyed] = nextKey(conversation);
  const item = { key, text: typeof text === "string" ? text : "", images: typeof images === "number" ? images : 0, mode, state: "sent" };
  return { ...keyed, waiting: [...keyed.waiting, { ...item, ...optional("id", id) } as PendingInput] };
};

export const waited: Reducer = (conversation, { state }, { id }) => {
  const { waiting } = conversation;
  const place = id === undefined ? -1 : waiting.findIndex((item) => idText(item.id) === idText(id));
  const item = waiting[place];
  if (item === undefined) return conversation;
  if (state === "gone") return { ...conversation, waiting: waiting.toSpliced(place, 1) };
  return item.state === state ? conversation : { ...conversation, waiting: waiting.with(place, { ...item, state } as PendingInput) };
};

export const queue: Reducer = (conversation, { steering, followUp }) => {
  let next = conversation;
  const left = [...conversation.waiting];
  const queued: PendingInput[] = [];
  for (const [mode, texts] of [["steer", steering], ["followUp", followUp]] as const) {
    for (const text of Array.isArray(texts) ? texts : []) {
      if (typeof text !== "string") continue;
      // A prompt that was sent during a run is now in one of the queues.
      const place = left.findIndex((item) => item.text === text && (item.mode === mode || item.mode === "prompt"));
      const known = left[place];
      if (known !== undefined) left.splice(place, 1);
      let key = known?.key;
      if (key === undefined) [key, next] = nextKey(next);
      queued.push({ ...(known ?? { text, images: 0 }), key, mode, state: "queued" });
    }
  }
  const others = left.filter(({ mode, state }) => mode === "prompt" || state === "sent");
  return { ...next, waiting: share(conversation.waiting, [...others, ...queued]) };
};

/** Sets members by their names. A name with a dot refers to a nested member. */
function assign(conversation: Conversation, values: readonly (readonly [string, JsonValue | undefined])[]): Conversation {
  let next = conversation as unknown as Record<string, unknown>;
  for (const [name, value] of values) {
    const [first = "", second] = name.split(".");
    const old = next[first];
    const inner = second === undefined ? value : withMember((old ?? {}) as Record<string, unknown>, second, value);
    next = withMember(next, first, inner);
  }
  return next as unknown as Conversation;
}

function withMember(record: Record<string, unknown>, name: string, value: unknown): Record<string, unknown> {
  if (value === undefined) return without(record, name);
  const known = Object.hasOwn(record, name) ? record[name] : undefined;
  const shared = share(known, value);
  return shared === known ? record : { ...record, [name]: shared };
}

export const set: Reducer = (conversation, slots, { names }) => assign(conversation, names.map((name) => [name, slots[name]] as const));

export const keep: Reducer = (conversation, slots) => assign(conversation, Object.entries(slots));

export const usage: Reducer = (conversation, { usage }) =>
  isObject(usage) ? { ...conversation, usage: share(conversation.usage, usage as Usage) } : conversation;

export const ask: Reducer = (conversation, slots, { id, name, at }) => {
  if (id === undefined) return conversation;
  const [key, keyed] = nextKey(conversation);
  const question = { ...slots, key, id, method: name, ...optional("at", at) } as unknown as OpenQuestion;
  return { ...keyed, dialogs: [...keyed.dialogs, question] };
};

/** Removes the question with that id. */
export function removeQuestion(conversation: Conversation, id: JsonValue | undefined): Conversation {
  const dialogs = conversation.dialogs.filter((question) => idText(question.id) !== idText(id));
  return dialogs.length === conversation.dialogs.length ? conversation : { ...conversation, dialogs };
}

/**
 * Removes questions whose time limit has passed, because the agent has continued without an
 * answer.
 */
export function removeExpired(conversation: Conversation, now: number | undefined): Conversation {
  if (now === undefined || conversation.dialogs.length === 0) return conversation;
  const isOpen = ({ at, timeoutMs }: OpenQuestion) => at === undefined || timeoutMs === undefined || now < at + timeoutMs;
  const dialogs = conversation.dialogs.filter(isOpen);
  return dialogs.length === conversation.dialogs.length ? conversation : { ...conversation, dialogs };
}

export const withdraw: Reducer = (conversation, { id }) => removeQuestion(conversation, id);

/** Adds a notice. */
export function notify(conversation: Conversation, notice: Omit<Notice, "key" | "at">, { at }: Pick<ReducerContext, "at">): Conversation {
  const [key, keyed] = nextKey(conversation);
  return { ...keyed, notices: [...keyed.notices.slice(1 - NOTICES), { key, ...notice, ...optional("at", at) }] };
}

export const notice: Reducer = (conversation, slots, context) => {
  const { level, text, source } = slots;
  if (typeof text !== "string") return conversation;
  const known = level === "warning" || level === "error" ? level : "info";
  return notify(conversation, { level: known, text, ...(typeof source === "string" ? { source } : {}) }, context);
};

export const entry: Reducer = (conversation, slots) => {
  const { key, value } = slots;
  if (typeof key !== "string") return conversation;
  const table = slots["in"] === "status" ? "status" : "widgets";
  if (value !== undefined && (table === "status" ? typeof value !== "string" : !isObject(value) || !Array.isArray(value["lines"]))) return conversation;
  const old = conversation[table] as Record<string, unknown>;
  const changed = withMember(old, key, value);
  return changed === old ? conversation : { ...conversation, [table]: changed as Record<string, string & Widget> };
};

export const draft: Reducer = (conversation, { text }) =>
  typeof text === "string" ? { ...conversation, draft: { text, count: (conversation.draft?.count ?? 0) + 1 } } : conversation;

export const task: Reducer = (conversation, slots) => {
  const { id } = slots;
  if (typeof id !== "string") return conversation;
  const place = conversation.tasks.findIndex((known) => known.id === id);
  const old = conversation.tasks[place];
  const changed = share(old, { state: "running", ...old, ...slots } as Task);
  if (changed === old) return conversation;
  const tasks = old === undefined ? [...conversation.tasks, changed] : conversation.tasks.with(place, changed);
  return { ...conversation, tasks };
};

export const child: Reducer = (conversation, { callId, event }, context) => {
  if (typeof callId !== "string" || !isObject(event)) return conversation;
  const known = conversation.messages
    .flatMap(({ blocks }) => blocks)
    .findLast((block) => block.type === "tool" && block.callId === callId);
  const old = known?.type === "tool" ? known.child : undefined;
  return changeTool(conversation, callId, { child: context.child(old, event as JsonObject) }, true);
};
