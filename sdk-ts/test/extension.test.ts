import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";

import type { HostFrame, JsonObject, JsonValue } from "../src/extension.js";
import { PATIENCE } from "./support/agent.js";
import { PACKAGE } from "./support/files.js";

const FIXTURE = join(PACKAGE, "build/test/support/extension.js");

/** The agent's end of the connection to an extension process. */
class Agent {
  readonly child: ChildProcessWithoutNullStreams;
  readonly offered: Promise<JsonObject>;
  stderr = "";
  readonly #lines: AsyncIterator<string>;
  #last = 0;

  constructor(context: TestContext, args: string[] = [FIXTURE]) {
    this.child = spawn(process.execPath, args);
    context.after(() => this.child.kill("SIGKILL"));
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.#lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    const hello = { protocol: 1, agentVersion: "0", mode: "rpc", hasUI: true, cwd: "/somewhere", agentDir: "/home", extensions: ["/x"] };
    this.offered = this.asked({ type: "initialize", ...hello }).then((answer) => answer["result"] as JsonObject);
  }

  send(frame: { type: HostFrame["type"]; [member: string]: JsonValue }): void {
    this.child.stdin.write(`${JSON.stringify(frame)}\n`);
  }

  /** Sends a request to the extension; returns its id. */
  ask(frame: { type: HostFrame["type"]; [member: string]: JsonValue }): string {
    const id = String(++this.#last);
    this.send({ ...frame, id });
    return id;
  }

  command(name: string, args = ""): string {
    return this.ask({ type: "command", extension: "/x", name, args });
  }

  event(event: JsonObject): string {
    return this.ask({ type: "event", extension: "/x", event });
  }

  /** Returns the next frame of the extension, without the debug lines of the log. */
  async next(): Promise<JsonObject> {
    for (;;) {
      const { value, done } = await within(this.#lines.next(), () => `nothing came; stderr: ${this.stderr}`);
      assert.ok(done !== true, `the process ended: ${this.stderr}`);
      const frame = JSON.parse(value) as JsonObject;
      if (frame["type"] !== "log" || frame["level"] !== "debug") return frame;
    }
  }

  /** Sends a request and returns its answer, which must be the next frame. */
  async asked(frame: { type: HostFrame["type"]; [member: string]: JsonValue }): Promise<JsonObject> {
    return this.answerTo(this.ask(frame));
  }

  async answerTo(id: string): Promise<JsonObject> {
    const answer = await this.next();
    assert.deepEqual([answer["type"], answer["id"]], ["response", id], JSON.stringify(answer));
    return answer;
  }

  /** Answers the next question of the extension. */
  async reply(type: string, result: JsonValue = null): Promise<JsonObject> {
    const { id, ...question } = await this.next();
    assert.equal(question["type"], type);
    this.send({ type: "response", id: id as string, result });
    return question;
  }

  async notice(): Promise<JsonValue | undefined> {
    const frame = await this.next();
    assert.equal(frame["type"], "notify", JSON.stringify(frame));
    return frame["message"];
  }

  async end(): Promise<number | null> {
    this.child.stdin.end();
    return this.exit();
  }

  async exit(): Promise<number | null> {
    const [code] = (await within(once(this.child, "close"), () => "it does not end")) as [number | null];
    return code;
  }
}

async function within<T>(promise: Promise<T>, what: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(what())), PATIENCE);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function started(context: TestContext): Promise<Agent> {
  const agent = new Agent(context);
  await agent.offered;
  return agent;
}

test("an extension declares its registrations", async (context) => {
  const { protocol, extensions } = await new Agent(context).offered;
  assert.equal(protocol, 1);
  const [offer] = extensions as JsonObject[];
  const names = (member: string): unknown[] => (offer?.[member] as JsonObject[]).map(({ name }) => name);
  assert.deepEqual([offer?.["path"], offer?.["name"], offer?.["events"]], ["/x", "fixture", ["session_start", "turn_start", "input"]]);
  assert.deepEqual((offer?.["commands"] as JsonObject[]).slice(0, 2), [{ name: "ask", description: "Asks" }, { name: "help" }]);
  assert.deepEqual(names("tools"), ["wait", "no-json", "whole"]);
  assert.deepEqual(offer?.["flags"], [{ name: "loud", kind: "boolean", description: "Says more", default: false }]);
});

test("answers reach their dialogs, and a missing answer is undefined", async (context) => {
  const agent = await started(context);
  for (const [args, result, notice] of [
    ["", { value: "b" }, '"b"'],
    ["250.5", {}, "null"],
  ] as const) {
    const id = agent.command("ask", args);
    const question = await agent.reply("select", result);
    const expected = { type: "select", title: "Which?", options: ["a", "b"], ...(args === "" ? {} : { timeout: 251 }), during: id };
    assert.deepEqual(question, expected);
    assert.equal(await agent.notice(), notice);
    await agent.answerTo(id);
  }
});

test("a dialog belongs to the handler behind it, in helpers too and side by side", async (context) => {
  const agent = await started(context);
  const ids = new Map([["one", agent.command("help", "one")], ["two", agent.command("help", "two")]]);
  const questions = [await agent.next(), await agent.next()];
  for (const question of questions) assert.equal(question["during"], ids.get(question["title"] as string));
  for (const question of questions.reverse()) {
    agent.send({ type: "response", id: question["id"] as string, result: { confirmed: question["title"] === "one" } });
    assert.equal(await agent.notice(), `${question["title"]} ${question["title"] === "one"}`);
    await agent.answerTo(ids.get(question["title"] as string) ?? "");
  }
});

test("a context that outlives its handler belongs to the one that is going on", async (context) => {
  const agent = await started(context);
  await agent.asked({ type: "event", extension: "/x", event: { type: "session_start" } });
  const id = agent.event({ type: "input", text: "remembered", source: "rpc" });
  assert.equal((await agent.reply("confirm", { confirmed: true }))["during"], id);
  assert.equal(await agent.notice(), "true");
});

test("a signal takes a dialog back, and keeps another from being shown", async (context) => {
  const agent = await started(context);
  const id = agent.command("withdraw");
  const question = await agent.next();
  assert.deepEqual(await agent.next(), { type: "withdraw", question: question["id"] });
  agent.send({ type: "response", id: question["id"] as string, result: {} });
  assert.equal(await agent.notice(), "[null,false]");
  await agent.answerTo(id);
});

test("an editor has a limit too", async (context) => {
  const agent = await started(context);
  agent.command("edit");
  const question = await agent.next();
  assert.deepEqual([question["type"], question["prefill"], "timeout" in question], ["editor", "text", false]);
  assert.deepEqual(await agent.next(), { type: "withdraw", question: question["id"] });
  agent.send({ type: "response", id: question["id"] as string, result: {} });
  assert.equal(await agent.notice(), "null");
});

test("each action is requested and its result is returned", async (context) => {
  const agent = await started(context);
  const id = agent.command("act");
  const compaction = { summary: "s", firstKeptEntryId: "e", tokensBefore: 1 };
  const exchange: [string, JsonObject, JsonValue?][] = [
    ["send_message", { message: { display: true, customType: "note", content: "words" }, triggerTurn: true }],
    ["append_entry", { customType: "mark", data: { at: 1 } }],
    ["set_session_name", { name: "named" }],
    ["set_label", { entryId: "entry" }],
    ["set_active_tools", { tools: ["read"] }],
    ["set_model", { provider: "provider", modelId: "model" }, { found: true }],
    ["set_thinking_level", { level: "low" }],
    ["send_user_message", { content: "go on", deliverAs: "followUp" }],
    ["compact", { customInstructions: "names" }, compaction],
    ["get_state", {}, { idle: true }],
    ["get_entries", {}, { entries: [], leafId: null }],
    ["get_state", {}, { flags: { loud: true } }],
    ["wait_for_idle", {}],
    ["new_session", {}, { cancelled: false }],
    ["fork", { entryId: "entry" }, { cancelled: true }],
    ["switch_session", { path: "file" }, { cancelled: false }],
    ["abort", {}],
    ["shutdown", {}],
  ];
  for (const [type, members, result] of exchange) {
    // A message on behalf of the user has no response. The client receives the events of its
    // run.
    const said = type === "send_user_message" ? await agent.next() : await agent.reply(type, result);
    assert.deepEqual(said, { type, ...members });
  }
  assert.deepEqual(JSON.parse((await agent.notice()) as string), {
    found: true,
    compacted: compaction,
    state: { idle: true },
    entries: { entries: [], leafId: null },
    flag: true,
    went: [true, false, true],
    cwd: "/somewhere",
    hasUI: true,
  });
  assert.deepEqual(await agent.answerTo(id), { type: "response", id });
});

test("notices go out as they were given", async (context) => {
  const agent = await started(context);
  agent.command("show");
  for (const frame of [
    { type: "notify", message: "plain" },
    { type: "notify", message: "mind", notifyType: "warning" },
    { type: "set_status", key: "key", text: "text" },
    { type: "set_status", key: "key" },
    { type: "set_widget", key: "block", lines: ["one"], placement: "belowEditor" },
    { type: "set_widget", key: "block" },
    { type: "set_title", title: "title" },
    { type: "set_editor_text", text: "text" },
    { type: "log", level: "info", message: "logged" },
  ]) {
    assert.deepEqual(await agent.next(), frame);
  }
});

test("the last answer to an event counts, and one that deals with it is the last", async (context) => {
  const agent = await started(context);
  for (const [text, result] of [
    ["?one", { action: "transform", text: "one" }],
    ["?both", { action: "transform", text: "second" }],
    ["mine", { action: "handled" }],
    ["plain", undefined],
  ] as const) {
    const answer = await agent.asked({ type: "event", extension: "/x", event: { type: "input", text, source: "rpc" } });
    assert.deepEqual(answer["result"], result, text);
  }
});

test("a tool reports progress, returns text or a full result, and is stopped by the agent", async (context) => {
  const agent = await started(context);
  const call = (name: string, params: JsonObject): string =>
    agent.ask({ type: "tool", extension: "/x", name, toolCallId: "c", params });
  const short = call("wait", { seconds: 0 });
  const shown = { type: "tool_update", content: [{ type: "text", text: "waiting 0" }], details: { seconds: 0 } };
  assert.deepEqual(await agent.next(), { ...shown, id: short });
  assert.deepEqual((await agent.answerTo(short))["result"], { content: [{ type: "text", text: "waited 0" }] });
  assert.deepEqual((await agent.answerTo(call("whole", {})))["result"], { content: [], isError: true });
  assert.match((await agent.answerTo(call("no-json", {})))["error"] as string, /BigInt/);
  const long = call("wait", { seconds: 3600 });
  await agent.next();
  agent.send({ type: "cancel", id: long });
  assert.match((await agent.answerTo(long))["error"] as string, /abort/);
  assert.equal((await agent.answerTo(call("none", {})))["error"], "unknown tool none");
});

test("every failure is reported in one line", async (context) => {
  const agent = await started(context);
  for (const [command, error] of [
    ["fail", "it failed"],
    ["none", "unknown command none"],
    ["add-again", "the command ask is already registered"],
    ["timeout", "a timeout is a number of milliseconds above 0, not -1"],
  ] as const) {
    const id = agent.command(command);
    assert.deepEqual(await agent.answerTo(id), { type: "response", id, error });
  }
  const refused = agent.command("refused");
  const { id } = await agent.next();
  agent.send({ type: "response", id: id as string, error: "there is no entry nowhere" });
  assert.equal((await agent.answerTo(refused))["error"], "there is no entry nowhere");
  // The result of these handlers is not used.
  agent.send({ type: "event", extension: "/x", event: { type: "turn_start", turnIndex: 0, timestamp: 0 } });
  assert.deepEqual(await agent.next(), { type: "failed", event: "turn_start", error: "nobody waits" });
  await agent.answerTo(agent.command("late"));
  assert.deepEqual(await agent.next(), { type: "failed", event: "uncaught", error: "too late for an answer" });
  agent.child.stdin.write("no frame\n");
  assert.match((await agent.next())["message"] as string, /^a frame was lost: /);
});

test("later registrations are declared again", async (context) => {
  const agent = await started(context);
  agent.command("add");
  const { type, offered } = await agent.next();
  assert.equal(type, "register");
  const { commands } = offered as { commands: JsonObject[] };
  assert.deepEqual(commands.at(-1), { name: "added" });
});

test("frames are found across any chunking", async (context) => {
  const agent = await started(context);
  const frame = JSON.stringify({ type: "command", id: "x", extension: "/x", name: "ask", args: "1 \u2028 ü" });
  const bytes = Buffer.from(`\n${frame}\n`);
  for (const byte of bytes) agent.child.stdin.write(Buffer.of(byte));
  assert.match((await agent.answerTo("x"))["error"] as string, /not NaN$/);
});

test("printed text goes to stderr, never between frames", async (context) => {
  const agent = await started(context);
  await agent.answerTo(agent.command("print"));
  assert.equal(await agent.end(), 0);
  for (const text of ["printed while it loads", "printed { a: 1 }", "told", "no newline "]) {
    assert.ok(agent.stderr.includes(text), agent.stderr);
  }
});

test("the end of the connection ends handlers, questions and the process", async (context) => {
  const agent = await started(context);
  const id = agent.command("ask");
  assert.equal((await agent.next())["type"], "select");
  const call = agent.ask({ type: "tool", extension: "/x", name: "wait", toolCallId: "c", params: { seconds: 3600 } });
  assert.equal((await agent.next())["id"], call);
  agent.child.stdin.end();
  const answers = [await agent.next(), await agent.next()].map((answer) => [answer["id"], answer["error"]]);
  assert.deepEqual(new Map(answers as [string, string][]).get(id), "the agent has closed the connection");
  assert.ok(answers.some(([of]) => of === call));
  assert.equal(await agent.exit(), 0);
  assert.match(agent.stderr, /the end: the agent has closed the connection/);
});

test("an extension that fails during loading reports the reason and registers nothing", async (context) => {
  const script = `import { Extension } from ${JSON.stringify(join(PACKAGE, "build/src/extension.js"))};
    const extension = new Extension();
    extension.command({ name: "x" }, () => {}); extension.command({ name: "x" }, () => {});
    await extension.run();`;
  const agent = new Agent(context, ["--input-type=module", "-e", script]);
  const error = "the command x is already registered";
  assert.deepEqual((await agent.offered)["extensions"], [{ path: "/x", error }]);
  await agent.end();
  assert.ok(agent.stderr.includes(`Error: ${error}`), agent.stderr);
});

test("an extension started without an agent prints a usage text", async (context) => {
  const script = `import { Extension } from ${JSON.stringify(join(PACKAGE, "build/src/extension.js"))};
    process.stdin.isTTY = true;
    await new Extension().run();`;
  const agent = new Agent(context, ["--input-type=module", "-e", script]);
  agent.offered.catch(() => undefined);
  agent.child.stdin.on("error", () => undefined);
  assert.notEqual(await agent.exit(), 0);
  assert.match(agent.stderr, /an extension must be started by an agent/);
});
