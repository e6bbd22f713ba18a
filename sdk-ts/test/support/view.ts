/**
 * Fold of recorded sessions, with short summaries of the results that are equal in every language.
 */

import { createHash } from "node:crypto";

import type { TranscriptLine } from "../../src/generated/types.js";
import type { Conversation, Message } from "../../src/ui.js";
import { View } from "../../src/ui.js";
import { readTranscript, recordedLine } from "../../src/testing.js";

/** Differences between a view before and after the response to the history command. */
export interface HistoryComparison {
  /** `true` if the view considered itself complete before. */
  complete: boolean;
  /** Number of messages that the view had already. */
  told: number;
  /** Messages that the view did not have, each as role and kind. */
  untold: string[];
  /** Number of messages that the agent no longer has. */
  gone: number;
  /** Members whose values differ at the agent, as role and name. */
  changed: string[];
}

/** Result of folding a recorded session. */
export interface FoldSummary {
  transcript: string;
  asked: HistoryComparison[];
  /** Digest of the conversation at the end. */
  end: string;
}

/** Folds a recorded session. */
export function foldTranscript(dialect: string, name: string, text: string): { folded: FoldSummary; conversation: Conversation } {
  const view = View.open(dialect);
  const asked: HistoryComparison[] = [];
  for (const record of readTranscript(text).records) {
    const line = recordedLine(record);
    if (line === undefined) continue;
    const { dir, t } = record as TranscriptLine;
    const before = view.conversation;
    const after = dir === "c2s" ? view.sent(line, t) : view.received(line, t);
    if (dir === "s2c" && isHistory(line, before)) asked.push(compare(before, after));
  }
  const conversation = view.snapshot();
  return { folded: { transcript: `${dialect}/${name}`, asked, end: digest(conversation) }, conversation };
}

/**
 * Returns `true` if a line is the successful response to the first command that a late view sends.
 */
function isHistory(line: string, { dialect, internal }: Conversation): boolean {
  const [history] = View.open(dialect).catchUpCommands;
  let frame: { id?: unknown; success?: boolean; result?: unknown } | null;
  try {
    frame = JSON.parse(line) as typeof frame;
  } catch {
    return false;
  }
  const isAnswer = frame?.success === true || frame?.result !== undefined;
  const place = frame?.id === undefined ? `without ${history}` : JSON.stringify(frame.id);
  return isAnswer && internal.sent[place]?.command === history;
}

function compare(before: Conversation, after: Conversation): HistoryComparison {
  const inContext = ({ messages }: Conversation) => messages.filter(({ gone, state }) => gone !== true && state !== "growing");
  const old = new Map(inContext(before).map((message) => [message.key, message]));
  const asked: HistoryComparison = { complete: before.complete, told: 0, untold: [], gone: 0, changed: [] };
  for (const message of inContext(after)) {
    const known = old.get(message.key);
    if (known === undefined) asked.untold.push([message.role, message.kind].filter((word) => word !== undefined).join(" "));
    else asked.told += 1;
    if (known !== undefined) asked.changed.push(...differences(known, message));
    old.delete(message.key);
  }
  asked.gone = old.size;
  const places = inContext(before).map(({ key }) => inContext(after).findIndex((message) => message.key === key));
  const known = places.filter((place) => place >= 0);
  if (known.some((place, at) => place < (known[at - 1] ?? 0))) asked.changed.push("order");
  asked.changed = [...new Set(asked.changed)].sort();
  return asked;
}

function differences(known: Message, message: Message): string[] {
  const names = new Set([...Object.keys(known), ...Object.keys(message)]) as Set<keyof Message>;
  return [...names].filter((name) => canonical(known[name]) !== canonical(message[name])).map((name) => `${message.role}.${name}`);
}

/** Returns the digest of a conversation, without the internal state of the fold. */
export function digest({ internal: _, ...conversation }: Conversation): string {
  return digestOf(conversation);
}

/** Returns the digest of a value. */
export function digestOf(value: unknown): string {
  return createHash("sha256").update(canonical(value), "utf8").digest("hex").slice(0, 16);
}

/**
 * Returns the JSON text of a value in a form that is equal in all languages: members are sorted by
 * name, numbers are in millionths.
 */
function canonical(value: unknown): string {
  if (value === undefined) return "-";
  if (value === null) return "n";
  if (typeof value === "boolean") return value ? "t" : "f";
  if (typeof value === "number") return `#${BigInt(Math.floor(value * 1e6 + 0.5))}`;
  if (typeof value === "string") return `'${value}'`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const members = Object.entries(value as object).filter(([, member]) => member !== undefined);
  return `{${members.sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, member]) => `${name}:${canonical(member)}`).join(",")}}`;
}
