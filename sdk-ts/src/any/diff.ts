/** Differences between two states of a conversation, as events in a fixed order. */

import type { Block, Conversation, Message, ToolBlock, Usage } from "../ui.js";
import type { AnyEvent } from "./event.js";

type Emit = (event: AnyEvent) => void;

/**
 * Members of the conversation whose changes are reported without the new value, by the name of
 * the member.
 */
const NAME_ONLY_MEMBERS = [
  "session", "model", "thinkingLevel", "settings", "commands", "models", "forkPoints", "todos", "tasks", "shells",
  "status", "widgets", "title", "draft",
] as const satisfies readonly (keyof Conversation)[];

/** Returns the events for the difference between two states, before and after one frame. */
export function differences(old: Conversation, now: Conversation): AnyEvent[] {
  if (old === now) return [];
  const events: AnyEvent[] = [];
  const emit: Emit = (event) => void events.push(event);
  const begins = old.run.state === "idle";
  if (begins) emitState(old, now, emit);
  const { compaction } = now.run;
  if (compaction !== undefined && old.run.compaction === undefined) {
    emit({ type: "compactionBegan", ...(compaction.reason !== undefined && { reason: compaction.reason }) });
  }
  emitMessages(old, now, emit);
  if (compaction === undefined && old.run.compaction !== undefined) emit({ type: "compactionEnded" });
  if (!same(old.waiting, now.waiting)) emit({ type: "queue", waiting: now.waiting });
  const lacks = (all: readonly { readonly key: string }[], key: string) => all.every((one) => one.key !== key);
  for (const { key } of old.dialogs) if (lacks(now.dialogs, key)) emit({ type: "answered", question: key });
  for (const question of now.dialogs) if (lacks(old.dialogs, question.key)) emit({ type: "asked", question });
  // Keys grow, so each notice behind the last known key is new.
  const known = old.notices.at(-1)?.key;
  const first = now.notices.findIndex(({ key }) => key === known) + 1;
  for (const notice of now.notices.slice(first)) emit({ type: "notice", notice });
  if (!isSameUsage(old.usage, now.usage) || !same(old.context, now.context)) {
    emit({ type: "usage", usage: now.usage, ...(now.context !== undefined && { context: now.context }) });
  }
  const { retry } = now.run;
  if (retry === undefined && old.run.retry !== undefined) emit({ type: "retryEnded" });
  if (retry !== undefined && !same(old.run.retry, retry)) emit({ type: "retryBegan", retry });
  const members = NAME_ONLY_MEMBERS.filter((name) => !same(old[name], now[name]));
  if (members.length > 0) emit({ type: "changed", members });
  if (!begins) emitState(old, now, emit);
  return events;
}

/** Smallest reported difference of costs in US dollars. */
const LEAST_COST = 1e-9;

/** Returns `true` if the tokens are equal, and the costs are equal except for rounding. */
function isSameUsage({ cost: old, ...before }: Usage, { cost: now, ...after }: Usage): boolean {
  const isSame = old === undefined || now === undefined ? old === now : Math.abs(old - now) < LEAST_COST;
  return isSame && same(before, after);
}

function emitState(old: Conversation, now: Conversation, emit: Emit): void {
  const { state, error } = now.run;
  if (old.run.state === state && old.run.error === error) return;
  emit({ type: "state", state, ...(error !== undefined && { error }) });
}

function emitMessages(old: Conversation, now: Conversation, emit: Emit): void {
  if (old.messages === now.messages) return;
  const isKept = (message: Message, place: number) => now.messages[place]?.key === message.key;
  if (!old.messages.every(isKept)) return emit({ type: "replaced", messages: now.messages });
  now.messages.forEach((message, place) => {
    const known = old.messages[place];
    if (known === message) return;
    if (known !== undefined) return emitGrowth(known, message, emit);
    emit({ type: "messageBegan", message: message.key, role: message.role });
    const initial: Message = { key: message.key, role: message.role, state: "growing", blocks: [] };
    if (message.state === "growing") return emitGrowth(initial, message, emit);
    emitTools(initial, message, emit);
    emit({ type: "messageEnded", message });
  });
}

/** Emits events for the new content of a message, the progress of its tools and its end. */
function emitGrowth(old: Message, now: Message, emit: Emit): void {
  // Messages of other roles arrive complete, in one frame.
  if (old.state === "growing" && now.role === "assistant") {
    now.blocks.forEach((block, place) => emitBlockGrowth(now.key, place, old.blocks[place], block, emit));
  }
  emitTools(old, now, emit);
  if (old.state === "growing" && now.state !== "growing") emit({ type: "messageEnded", message: now });
  if (now.gone === true && old.gone !== true) emit({ type: "messageGone", message: now.key });
}

function emitBlockGrowth(message: string, block: number, old: Block | undefined, now: Block, emit: Emit): void {
  if (now === old) return;
  if (now.type === "tool" && (old === undefined || old.type === "tool")) return emitArgumentGrowth(message, block, old, now, emit);
  if (now.type === "text" || now.type === "thinking") {
    const before = old === undefined ? "" : old.type === now.type ? old.text : undefined;
    if (before !== undefined && now.text.startsWith(before)) {
      const text = now.text.slice(before.length);
      if (text === "") return;
      return emit({ type: now.type === "text" ? "textGrew" : "thinkingGrew", message, block, text });
    }
  }
  if (!same(old, now)) emit({ type: "blockChanged", message, block, value: now });
}

function emitArgumentGrowth(message: string, block: number, old: ToolBlock | undefined, now: ToolBlock, emit: Emit): void {
  const { callId, name } = now;
  const isNew = old?.name !== name || old.callId !== callId;
  const known = old?.argumentsText ?? "";
  const whole = now.argumentsText;
  const text = whole !== undefined && whole.length > known.length && whole.startsWith(known) ? whole.slice(known.length) : undefined;
  const given = now.arguments !== undefined && !same(old?.arguments, now.arguments) ? now.arguments : undefined;
  if (!isNew && text === undefined && given === undefined) return;
  emit({
    type: "argumentsGrew", message, block, callId, name,
    ...(text !== undefined && { text }),
    ...(given !== undefined && { arguments: given }),
  });
}

const isEnded = ({ state }: ToolBlock): boolean => state !== "coming" && state !== "running";

function emitTools(old: Message, now: Message, emit: Emit): void {
  if (old.blocks === now.blocks) return;
  for (const tool of now.blocks) {
    if (tool.type !== "tool") continue;
    const known = old.blocks.find((block) => block.type === "tool" && block.callId === tool.callId);
    if (known !== tool) emitToolProgress(known as ToolBlock | undefined, tool, emit);
  }
}

function emitToolProgress(old: ToolBlock | undefined, now: ToolBlock, emit: Emit): void {
  const { callId, name, state, output, result } = now;
  const details = now.details === undefined ? {} : { details: now.details };
  if ((old === undefined || old.state === "coming") && state === "running") {
    emit({ type: "toolStarted", callId, name, ...(now.arguments !== undefined && { arguments: now.arguments }) });
  }
  const isShown = old !== undefined && same(old.output, output) && same(old.details, now.details);
  if (state === "running" && output !== undefined && !isShown) emit({ type: "toolUpdated", callId, output, ...details });
  if ((old === undefined || !isEnded(old)) && isEnded(now)) {
    emit({ type: "toolEnded", callId, name, state, result: result ?? [], ...details });
  }
}

/** Returns `true` if two values are the same JSON. */
function same(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const given = (value: object) => Object.entries(value).filter(([, member]) => member !== undefined);
  const [ours, theirs] = [given(one), given(other)];
  return ours.length === theirs.length && ours.every(([name, member]) => same(member, (other as Record<string, unknown>)[name]));
}
