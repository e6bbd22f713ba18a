import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { type Conversation, type ToolBlock, View, fold, readArguments, readPartial } from "../src/ui.js";
import type { JsonObject, JsonValue } from "../src/generated/types.js";
import { REPOSITORY, readText, transcripts } from "./support/files.js";
import { type FoldSummary, foldTranscript } from "./support/view.js";

interface Vectors {
  /** Messages that no event announces, and members that events omit, by dialect. Each has a reason. */
  unannounced: Record<string, Record<string, string>>;
  sessions: FoldSummary[];
}

const VECTORS = ["conformance", "vectors", "view.json"];
const vectors = JSON.parse(readText(...VECTORS)) as Vectors;

describe("every recorded session", () => {
  const folded = transcripts()
    .filter(({ dialect }) => dialect in vectors.unannounced)
    .map(({ dialect, scenario, text }) => foldTranscript(dialect, scenario, text).folded);
  if (process.env["VIEW_VECTORS"] === "write") {
    const lines = folded.map((session) => `    ${JSON.stringify(session)}`).join(",\n");
    const head = JSON.stringify({ unannounced: vectors.unannounced }, null, 2).slice(0, -2);
    writeFileSync(join(REPOSITORY, ...VECTORS), `${head},\n  "sessions": [\n${lines}\n  ]\n}\n`);
  }

  test("folds to the snapshots of the vectors", () => {
    assert.deepEqual(folded, vectors.sessions);
  });

  test("agrees with the state queries of the agent, except for unannounced changes", () => {
    let answers = 0;
    for (const { transcript, asked } of folded) {
      const allowed = vectors.unannounced[transcript.split("/")[0] as string] ?? {};
      for (const { complete, untold, gone, changed } of asked) {
        answers += 1;
        assert.deepEqual(changed.filter((member) => !(member in allowed)), [], transcript);
        if (!complete) continue;
        assert.deepEqual(untold.filter((message) => !(message in allowed)), [], transcript);
        assert.equal(gone, 0, transcript);
      }
    }
    assert.ok(answers > 30);
  });
});

describe("the end of a run, and of the agent", () => {
  interface EndCase {
    dialect: string;
    name: string;
    frames: ["sent" | "received", object][];
    ended: string | null;
    run: object;
    states: string[];
  }
  for (const one of JSON.parse(readText("conformance", "vectors", "view_ends.json")) as EndCase[]) {
    test(`${one.dialect}: ${one.name}`, () => {
      const view = View.open(one.dialect);
      for (const [direction, frame] of one.frames) view[direction](frame);
      if (one.ended !== null) view.close(one.ended);
      const { run, messages, dialogs } = view.conversation;
      assert.deepEqual(run, one.run);
      assert.deepEqual(messages.map(({ state }) => state), one.states);
      assert.deepEqual(dialogs, []);
    });
  }
});

/**
 * Returns a view of pi after these frames. A frame with an id that is not a `response` is folded as sent by
 * the client.
 */
function shown(...frames: object[]): View {
  const view = View.open("pi");
  for (const frame of frames) {
    if ("id" in frame && (frame as { type?: string }).type !== "response" && !("method" in frame)) view.sent(frame);
    else view.received(JSON.stringify(frame));
  }
  return view;
}

const assistant = (content: object[], more: object = {}) => ({
  role: "assistant", content, api: "a", provider: "p", model: "m", stopReason: "stop", timestamp: 5,
  usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { total: 0.5 } }, ...more,
});
const user = (text: string) => ({ role: "user", content: text, timestamp: 4 });
const delta = (event: object) => ({ type: "message_update", assistantMessageEvent: { contentIndex: 0, ...event } });

describe("a view", () => {
  test("grows a message from pieces and ends with the message of the agent", () => {
    const view = shown({ type: "agent_start" }, { type: "message_start", message: assistant([]) });
    view.received(delta({ type: "text_start" }));
    view.received(delta({ type: "text_delta", delta: "Hel" }));
    view.received(delta({ type: "text_delta", delta: "lo" }));
    assert.deepEqual(view.conversation.messages[0]?.blocks, [{ type: "text", text: "Hello" }]);
    assert.equal(view.conversation.messages[0]?.state, "growing");
    assert.equal(view.conversation.run.state, "working");
    view.received({ type: "message_end", message: assistant([{ type: "text", text: "Hello!" }]) });
    assert.equal(view.conversation.messages[0]?.state, "done");
    assert.deepEqual(view.conversation.messages[0]?.blocks, [{ type: "text", text: "Hello!" }]);
    assert.deepEqual(view.conversation.usage, { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, total: 3, cost: 0.5 });
  });

  test("shows a call's arguments as they come, its output and its result", () => {
    const view = shown({ type: "message_start", message: assistant([]) });
    const block = () => view.conversation.messages[0]?.blocks[0] as ToolBlock;
    view.received(delta({ type: "toolcall_start", id: "c1", toolName: "write" }));
    view.received(delta({ type: "toolcall_delta", delta: '{"path": "a.txt", "content": "one\\ntw' }));
    assert.deepEqual(readArguments(block()), { path: "a.txt", content: "one\ntw" });
    assert.equal(block().state, "coming");
    view.received(delta({ type: "toolcall_end", toolCall: { type: "toolCall", id: "c1", name: "write", arguments: { path: "a.txt" } } }));
    assert.deepEqual(block(), { type: "tool", callId: "c1", name: "write", state: "coming", arguments: { path: "a.txt" } });
    view.received({ type: "tool_execution_start", toolCallId: "c1", toolName: "write", args: { path: "a.txt" } });
    const part = { content: [{ type: "text", text: "half" }] };
    view.received({ type: "tool_execution_update", toolCallId: "c1", toolName: "write", args: {}, partialResult: part });
    assert.deepEqual([block().state, block().output], ["running", [{ type: "text", text: "half" }]]);
    view.received({ type: "tool_execution_end", toolCallId: "c1", toolName: "write", result: { content: [] }, isError: true });
    assert.deepEqual([block().state, block().result], ["failed", []]);
  });

  test("keeps unchanged objects identical", () => {
    const view = shown({ type: "message_start", message: user("one") }, { type: "message_end", message: user("one") });
    const before = view.conversation;
    view.received({ type: "message_start", message: assistant([{ type: "text", text: "a" }]) });
    const middle = view.conversation;
    assert.equal(middle.messages[0], before.messages[0]);
    assert.equal(middle.run, before.run);
    const update = { type: "message_update", message: assistant([{ type: "text", text: "a" }, { type: "text", text: "b" }]) };
    view.received({ ...update, assistantMessageEvent: { type: "text_delta", contentIndex: 1, delta: "b" } });
    assert.equal(view.conversation.messages[1]?.blocks[0], middle.messages[1]?.blocks[0]);
    assert.notEqual(view.conversation.messages[1], middle.messages[1]);
    assert.equal(view.received({ type: "never_heard_of" }), view.conversation);
    assert.equal(view.received("no JSON"), view.conversation);
  });

  test("can be stored and continued", () => {
    const frames = [
      { id: 1, type: "prompt", message: "hi" },
      { id: 1, type: "response", command: "prompt", success: true },
      { type: "agent_start" },
      { type: "message_start", message: user("hi") },
      { type: "message_end", message: user("hi") },
      { type: "message_start", message: assistant([]) },
      delta({ type: "text_delta", delta: "Hel" }),
      { type: "message_end", message: assistant([{ type: "text", text: "Hello" }]) },
      { type: "agent_end", messages: [] },
    ];
    for (let cut = 0; cut <= frames.length; cut++) {
      const stored = JSON.parse(JSON.stringify(shown(...frames.slice(0, cut)).snapshot())) as Conversation;
      const view = View.open("pi", { stored });
      for (const frame of frames.slice(cut)) "id" in frame && frame.type === "prompt" ? view.sent(frame) : view.received(frame);
      assert.deepEqual(view.conversation, shown(...frames).conversation);
    }
    assert.throws(() => View.open("opal", { stored: shown().snapshot() }), RangeError);
    assert.throws(() => View.open("nothing"), /unknown dialect "nothing"; known: /);
  });

  test("lists pending input until it enters the conversation or is rejected", () => {
    const view = shown({ type: "agent_start" }, { id: "s", type: "steer", message: "left" }, { id: "p", type: "prompt", message: "x" });
    const waiting = () => view.conversation.waiting.map(({ text, mode, state }) => [text, mode, state]);
    view.received({ id: "s", type: "response", command: "steer", success: true });
    view.received({ id: "p", type: "response", command: "prompt", success: false, error: "busy" });
    assert.deepEqual(waiting(), [["left", "steer", "queued"]]);
    assert.deepEqual(view.conversation.notices.map(({ level, text, source }) => [level, text, source]), [["error", "busy", "prompt"]]);
    view.received({ type: "queue_update", steering: ["left"], followUp: ["later"] });
    assert.deepEqual(waiting(), [["left", "steer", "queued"], ["later", "followUp", "queued"]]);
    view.received({ type: "message_start", message: user("left") });
    assert.deepEqual(waiting(), [["later", "followUp", "queued"]]);
  });

  test("lists open questions until they are answered or their time is up", () => {
    const view = View.open("pi");
    const ask = (id: string) => ({ type: "extension_ui_request", id, method: "confirm", title: "Sure?", message: "Really?", timeout: 500 });
    view.received(ask("d1"), 1000);
    view.received(ask("d2"), 1100);
    const { key: _, ...question } = view.conversation.dialogs[0] ?? { key: "" };
    assert.deepEqual(question, { id: "d1", method: "confirm", kind: "confirm", title: "Sure?", text: "Really?", timeoutMs: 500, at: 1000 });
    view.sent({ type: "extension_ui_response", id: "d1", confirmed: true }, 1200);
    assert.deepEqual(view.conversation.dialogs.map(({ id }) => id), ["d2"]);
    view.received({ type: "turn_start" }, 1600);
    assert.deepEqual(view.conversation.dialogs, []);
  });

  test("shows the state of the run", () => {
    const view = shown({ type: "agent_start" }, { id: 1, type: "abort" });
    assert.equal(view.conversation.run.state, "aborting");
    view.received({ type: "agent_end", messages: [] });
    assert.equal(view.conversation.run.state, "idle");
    view.received({ type: "auto_retry_start", attempt: 1, maxAttempts: 3, delayMs: 10, errorMessage: "529" });
    assert.deepEqual(view.conversation.run.retry, { attempt: 1, maxAttempts: 3, delayMs: 10, error: "529" });
    assert.equal(view.conversation.run.state, "retrying");
    view.received({ type: "auto_retry_end", success: true, attempt: 1 });
    view.received({ type: "compaction_start", reason: "threshold" });
    assert.equal(view.conversation.run.state, "compacting");
    view.received({ type: "compaction_end", reason: "threshold", aborted: true, willRetry: false });
    assert.equal(view.conversation.run.state, "idle");
  });

  test("shows shell commands while they run, and puts them behind the run", () => {
    const view = shown({ type: "agent_start" }, { id: "b", type: "bash", command: "ls" });
    view.received({ type: "bash_execution_update", id: "b", delta: "a.txt\n" });
    assert.deepEqual(view.conversation.shells.map(({ command, output }) => [command, output]), [["ls", "a.txt\n"]]);
    const data = { output: "a.txt\n", exitCode: 0, cancelled: false, truncated: false };
    view.received({ id: "b", type: "response", command: "bash", success: true, data });
    assert.deepEqual([view.conversation.shells, view.conversation.messages], [[], []]);
    view.received({ type: "agent_end", messages: [] });
    assert.deepEqual(view.conversation.messages.map(({ role, command, exitCode }) => [role, command, exitCode]), [["shell", "ls", 0]]);
  });

  test("notifies its listeners of changes only", () => {
    const view = View.open("pi");
    let heard = 0;
    const stop = view.subscribe(() => heard++);
    view.received({ type: "agent_start" });
    view.received({ type: "turn_start" });
    assert.equal(heard, 1);
    stop();
    view.received({ type: "agent_end", messages: [] });
    assert.equal(heard, 1);
  });

  test("takes a place behind the blocks for the next one", () => {
    const view = shown({ type: "message_start", message: assistant([]) });
    view.received(delta({ type: "text_start", contentIndex: 1_000_000 }));
    view.received(delta({ type: "text_delta", contentIndex: 0, delta: "Hello" }));
    assert.deepEqual(view.conversation.messages[0]?.blocks, [{ type: "text", text: "Hello" }]);
  });

  test("shows a non-text error as JSON", () => {
    const error = { code: "full", path: "/tmp/ä" };
    const view = shown({ id: "1", type: "compact" }, { id: "1", type: "response", command: "compact", success: false, error });
    assert.deepEqual(view.conversation.notices.map(({ text }) => text), ['{"code":"full","path":"/tmp/ä"}']);
  });

  test("never fails, whatever frames hold", () => {
    const odd = [null, 3, "x", [], {}, { role: "assistant" }, { content: 7 }];
    const names = ["message_start", "message_update", "message_end", "tool_execution_start", "tool_execution_end", "queue_update"];
    for (const type of names) {
      for (const value of odd) {
        const frame = { type, message: value, assistantMessageEvent: value, toolCallId: value, result: value, steering: value };
        assert.equal(typeof fold(View.open("pi").conversation, "received", frame), "object");
      }
    }
  });
});

test("the beginning of a JSON text is read as far as it goes", () => {
  const cases: [string, unknown][] = [
    ["", undefined],
    ["{", {}],
    ['{"a', {}],
    ['{"a"', {}],
    ['{"a":', {}],
    ['{"a": "x', { a: "x" }],
    ['{"a": "x\\', { a: "x" }],
    ['{"a": "x\\u00', { a: "x" }],
    ['{"a": "x\\n', { a: "x\n" }],
    ['{"a": tr', {}],
    ['{"a": true', { a: true }],
    ['{"a": 1.', {}],
    ['{"a": [1, 2', { a: [1, 2] }],
    ['{"a": {"b": "c"}, "d', { a: { b: "c" } }],
    ['{"a": "}", "b": ["]', { a: "}", b: ["]"] }],
    ['{"a": 1}', { a: 1 }],
    ['{"a": 1, "b', { a: 1 }],
    ['{"a": [{"b": "c", "d": -', { a: [{ b: "c" }] }],
    ['["a", "b', ["a", "b"]],
    ['"a\\"b', 'a"b'],
    ["1", 1],
    ['{"a": 1 "b"', undefined],
  ];
  for (const [text, value] of cases) assert.deepEqual(readPartial(text), value, text);
  // Every prefix of a complete text can be read. A longer prefix never removes a value of a shorter one.
  const text = JSON.stringify({ path: "a.txt", edits: [{ old: 'one "two"\n', new: "ü\u2028" }, {}], all: true, none: null, count: -1.5e3 });
  for (let end = 1; end <= text.length; end++) assert.notEqual(readPartial(text.slice(0, end)), undefined, text.slice(0, end));
});

test("long incomplete arguments are read in one pass", () => {
  // A parser that looked back at every letter or space would take hours for these texts.
  for (const letter of ["a", " ", '\\"', "\\\\"]) {
    const content = letter.repeat(500_000);
    const value = readPartial(`{"path": "a", "content": "${content}`) as { content: string };
    assert.equal(value.content, JSON.parse(`"${content}"`));
    assert.deepEqual(readPartial(`{"path": "a", "content": "${content}", "rest`), { path: "a", content: value.content });
  }
});

/** Names of members that every object inherits. */
const INHERITED = ["constructor", "__proto__", "hasOwnProperty", "toString"];
/** Values that have the wrong type for most members. */
const WRONG: readonly JsonValue[] = [5, true, "abc", [], {}, [5, {}], { toString: null }, JSON.parse('{"__proto__":{"type":5}}') as JsonValue, ...INHERITED];

/**
 * Yields copies of the value in which one member is replaced, at every depth. Only the first twelve members
 * or items are replaced.
 */
function* spoiled(value: JsonValue, wrong: JsonValue): Generator<JsonValue> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value).slice(0, 12)) {
    const put = (other: JsonValue): JsonValue =>
      Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other };
    yield put(wrong);
    for (const inner of spoiled(member as JsonValue, wrong)) yield put(inner);
  }
}

/** Returns the members used by front ends whose values do not have their declared types. */
function misshapen({ messages, dialogs, notices, status, widgets, waiting, models, commands, forkPoints, run, session, title }: Conversation): string[] {
  const faults: string[] = [];
  const check = (holds: boolean, what: string) => holds || faults.push(what);
  const text = (value: unknown) => typeof value === "string";
  const textOr = (value: unknown) => value === undefined || text(value);
  for (const { key, id, role, state, blocks, usage, kind, model, time } of messages) {
    check([key, role, state].every(text) && [id, kind, model].every(textOr), "message");
    check(time === undefined || typeof time === "number", "time");
    check(usage?.cost === undefined || typeof usage.cost === "number", "cost");
    check(Array.isArray(blocks), "blocks");
    for (const block of blocks) {
      if (block.type === "text" || block.type === "thinking") check(text(block.text), block.type);
      if (block.type === "image") check(text(block.data) && text(block.mimeType), "image");
      if (block.type === "tool") check(text(block.callId) && text(block.name) && textOr(block.label), "tool");
    }
  }
  for (const { title, text: about, options, timeoutMs, prefill } of dialogs) {
    check([title, about, prefill].every(textOr), "dialog");
    check(options === undefined || options.every(text), "options");
    check(timeoutMs === undefined || typeof timeoutMs === "number", "timeout");
  }
  check(notices.every(({ text: words, source }) => text(words) && textOr(source)), "notice");
  check(Object.values(status).every(text), "status");
  check(Object.values(widgets).every(({ lines }) => lines.every(text)), "widget");
  check(waiting.every(({ text: words }) => text(words)), "waiting");
  check((models ?? []).every(({ id, name }) => text(id) && textOr(name)), "model");
  check((commands ?? []).every(({ name, description }) => text(name) && textOr(description)), "command");
  check((forkPoints ?? []).every(({ id, text: words }) => text(id) && text(words)), "fork point");
  check([session.id, session.name, session.file, title, run.activity].every(textOr), "session");
  return faults;
}

describe("a frame of a wrong shape", () => {
  for (const [name, dialect] of [["ext-ui-values", "pi"], ["tool-write-read-edit", "pi"], ["ext_dialogs", "omp"], ["task_tool", "omp"], ["d01_prompt_answered_at_completion", "operator"], ["12_ask_user", "opal"], ["05_tool_read", "opal"]] as const) {
    test(`leaves a conversation of the right shape: ${dialect}, ${name}`, () => {
      const { text } = transcripts().find(({ scenario, dialect: its }) => scenario === name && its === dialect) as { text: string };
      const frames = text.trim().split("\n").slice(1).map((line) => JSON.parse(line) as { dir: string; line?: string }).filter(({ line }) => line?.startsWith("{"));
      const view = View.open(dialect);
      const tried = new Set<string>();
      for (const { dir, line } of frames) {
        const frame = JSON.parse(line ?? "") as { type?: string; method?: string; command?: string };
        const direction = dir === "c2s" ? "sent" : "received";
        const kind = JSON.stringify([direction, frame.type, frame.method, frame.command]);
        // A few frames of each kind suffice.
        if (!tried.has(kind)) {
          for (const wrong of WRONG) {
            for (const one of spoiled(frame as JsonValue, wrong)) {
              const after = fold(view.conversation, direction, JSON.stringify(one), 7);
              assert.deepEqual(misshapen(after), [], JSON.stringify(one).slice(0, 500));
            }
          }
        }
        tried.add(kind);
        view[direction](line ?? "", 7);
      }
    });
  }

  test("that is nested more deeply than functions can call each other, ends nothing", () => {
    const deep = `${"[".repeat(20_000)}1${"]".repeat(20_000)}`;
    const view = shown({ type: "agent_start" });
    for (const frame of [
      `{"type":"deep","value":${deep}}`,
      `{"type":"response","id":${deep},"command":"prompt","success":false,"error":${deep}}`,
      `{"type":"message_end","message":{"role":"assistant","content":[${deep},{"type":"toolCall","id":"d","name":"n","arguments":{"a":${deep}}}]}}`,
      `{"type":"tool_execution_update","toolCallId":"d","partialResult":{"content":[],"details":${deep}}}`,
      `{"type":"tool_execution_update","toolCallId":"d","partialResult":{"content":[],"details":${deep}}}`,
    ]) view.received(frame);
    view.received({ type: "message_end", message: assistant([{ type: "text", text: "On." }]) });
    assert.equal(view.conversation.messages.at(-1)?.blocks[0]?.type, "text");
  });

  test("with names of inherited object properties keeps their values", () => {
    const inherited = JSON.parse('{"__proto__":{"a":1},"constructor":"c","toString":[]}') as JsonObject;
    const call = (args: JsonObject) => ({ type: "tool_execution_start", toolCallId: "c", toolName: "n", args });
    const view = shown({ type: "agent_start" }, call({}), call({ ...inherited, b: 1 }), call(inherited));
    const block = view.conversation.messages[0]?.blocks[0] as ToolBlock;
    assert.equal(JSON.stringify(block.arguments), JSON.stringify(inherited));
    for (const name of INHERITED) {
      view.received({ type: name });
      view.received({ type: "extension_ui_request", id: name, method: "setStatus", statusKey: name, statusText: "on" });
    }
    assert.deepEqual(Object.entries(view.conversation.status), INHERITED.map((name) => [name, "on"]));
  });
});
