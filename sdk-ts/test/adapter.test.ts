import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";

import { soon } from "./support/agent.js";
import { REPOSITORY } from "./support/files.js";

/**
 * The reference agent, driven like the server of Opal's own TypeScript client. Ids are integers from 1. Names of
 * members and types of events are camel case on this side and snake case on the wire, at any depth.
 */
type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Members = { [name: string]: Json };

const AGENT = join(process.env["CARGO_TARGET_DIR"] ?? join(REPOSITORY, "target"), "debug", "agentese");
/** Number of characters from the end of stderr that are reported with an exit. */
const TAIL = 2000;

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function renamed(value: Json, change: (name: string) => string): Json {
  if (Array.isArray(value)) return value.map((inner) => renamed(inner, change));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [change(name), renamed(inner, change)]));
}

class Adapter {
  readonly child: ChildProcessWithoutNullStreams;
  readonly events: Members[] = [];
  readonly handlers = new Map<string, (params: Members) => Members>();
  /** Requests of the server without a handler. */
  readonly unhandled: string[] = [];
  readonly #calls = new Map<number, { done: (result: Json) => void; failed: (error: Error) => void }>();
  #last = 0;
  #stderr = "";
  #heard: () => void = () => undefined;

  constructor(place: string, responses: object[], ...more: string[]) {
    const [work, home, script] = [join(place, "work"), join(place, "home"), join(place, "script.json")];
    [work, home].forEach((folder) => mkdirSync(folder));
    writeFileSync(script, JSON.stringify({ responses }));
    const words = ["--mode", "rpc", "--dialect", "opal", "--provider", "scripted", "--script", script, ...more];
    const env: NodeJS.ProcessEnv = { ...process.env, HOME: home };
    for (const name of ["AGENTESE_HOME", "OPAL_HOME", "ANTHROPIC_API_KEY"]) delete env[name];
    this.child = spawn(AGENT, words, { cwd: work, env });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => (this.#stderr = (this.#stderr + text).slice(-TAIL)));
    this.child.stdin.on("error", () => undefined);
    createInterface(this.child.stdout).on("line", (line) => this.#line(line));
    this.child.on("exit", (code, signal) => {
      const error = new Error(`the server exited: code ${String(code)}, signal ${String(signal)}, ${this.#stderr}`);
      for (const { failed } of this.#calls.values()) failed(error);
      this.#calls.clear();
    });
  }

  call(method: string, params: Members = {}): Promise<Members> {
    const id = (this.#last += 1);
    const answer = new Promise<Json>((done, failed) => this.#calls.set(id, { done, failed }));
    this.#send({ jsonrpc: "2.0", id, method, params: renamed(params, snake) });
    return soon(answer) as Promise<Members>;
  }

  /** Returns the events of a prompt, up to the last one of its run. */
  async prompt(sessionId: Json, text: string): Promise<Members[]> {
    const begin = this.events.length;
    await this.call("agent/prompt", { sessionId, text });
    for (;;) {
      const over = this.events.slice(begin).findIndex(({ type }) => ["agentEnd", "agentAbort", "error"].includes(String(type)));
      if (over >= 0) return this.events.slice(begin, begin + over + 1);
      await soon(new Promise<void>((resolve) => (this.#heard = resolve)));
    }
  }

  async close(): Promise<void> {
    const exited = new Promise((resolve) => this.child.once("exit", resolve));
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill();
    await soon(exited);
  }

  #send(frame: Json): void {
    this.child.stdin.write(`${JSON.stringify(frame)}\n`);
  }

  #line(line: string): void {
    const frame = JSON.parse(line) as { id?: Json; method?: string; params?: Json; result?: Json; error?: { message: string } };
    const params = renamed(frame.params ?? {}, camel) as Members;
    if (frame.method === "agent/event") {
      this.events.push({ ...params, type: camel(String(params["type"])) });
      this.#heard();
    } else if (frame.method !== undefined) {
      this.#answer(frame.id ?? null, frame.method, params);
    } else {
      const call = this.#calls.get(Number(frame.id));
      this.#calls.delete(Number(frame.id));
      if (frame.error === undefined) call?.done(renamed(frame.result ?? null, camel));
      else call?.failed(new Error(frame.error.message));
    }
  }

  #answer(id: Json, method: string, params: Members): void {
    const handler = this.handlers.get(method);
    if (handler !== undefined) return this.#send({ jsonrpc: "2.0", id, result: renamed(handler(params), snake) });
    this.unhandled.push(method);
    if (method === "client/confirm") return this.#send({ jsonrpc: "2.0", id, result: { action: "deny" } });
    this.#send({ jsonrpc: "2.0", id, error: { code: -32601, message: `Method not found: ${method}` } });
  }
}

const place = mkdtempSync(join(tmpdir(), "agentese-adapter-"));
const started: Adapter[] = [];
after(async () => {
  for (const adapter of started) await adapter.close();
  rmSync(place, { recursive: true });
});

function adapter(name: string, responses: object[], ...more: string[]): Adapter {
  const own = join(place, name);
  mkdirSync(own);
  const made = new Adapter(own, responses, ...more);
  started.push(made);
  return made;
}

const call = (name: string, args: object): object => ({ blocks: [{ tool: { id: name, name, args } }] });

test("members change their letter case at every depth, both ways", async () => {
  const server = adapter("case", [call("use_skill", { skill_name: "nobody", deep: [{ inner_name: 1 }] }), { text: "done" }]);
  const { sessionId, availableSkills, auth } = await server.call("session/start", { features: { subAgents: false } });
  assert.deepEqual([availableSkills, (auth as Members)["status"]], [[], "ready"]);
  const config = await server.call("opal/config/get", { sessionId: sessionId ?? null });
  assert.equal((config["features"] as Members)["subAgents"], false);
  const events = await server.prompt(sessionId ?? null, "go");
  const begun = events.find(({ type }) => type === "toolExecutionStart");
  assert.deepEqual(begun?.["args"], { skillName: "nobody", deep: [{ innerName: 1 }] });
  assert.equal(events.at(-1)?.["type"], "agentEnd");
  assert.ok(events.every((event) => event["sessionId"] === sessionId));
  const { settings } = await server.call("settings/save", { settings: { anthropicApiKey: "example-key", defaultModel: "scripted:scripted" } });
  assert.deepEqual(settings, { defaultModel: "scripted:scripted", anthropicApiKey: "********" });
  // A masked value that is sent back changes nothing.
  await server.call("settings/save", { settings: settings ?? null });
  const { auth: now } = await server.call("auth/status");
  const anthropic = ((now as Members)["providers"] as Members[]).find(({ id }) => id === "anthropic");
  assert.equal(anthropic?.["ready"], true);
});

test("questions without a handler are rejected or denied and the run continues", async () => {
  const dialogs = ["-e", join(REPOSITORY, "extensions", "examples", "python", "dialogs.py")];
  const ask = call("ask_user", { question: "Which?" });
  const server = adapter("questions", [ask, { text: "on" }, ask, { text: "on" }], ...dialogs);
  const { sessionId } = await server.call("session/start");
  const result = (events: Members[]): Json => events.find(({ type }) => type === "toolExecutionEnd")?.["result"] ?? null;
  const failed = result(await server.prompt(sessionId ?? null, "go")) as Members;
  assert.equal(failed["ok"], false);
  assert.match(String(failed["error"]), /Method not found: client\/ask_user/);
  server.handlers.set("client/ask_user", ({ question }) => ({ answer: `to ${String(question)}` }));
  assert.deepEqual(result(await server.prompt(sessionId ?? null, "go")), { ok: true, output: "to Which?" });
  server.handlers.clear();
  assert.equal((await server.prompt(sessionId ?? null, "/dialogs")).at(-1)?.["type"], "agentEnd");
  assert.deepEqual(new Set(server.unhandled), new Set(["client/ask_user", "client/confirm", "client/input"]));
});

test("pending calls fail when the server ends", async () => {
  const server = adapter("exit", [{ blocks: [{ text: ["a", "b"] }], hang_after: 1 }]);
  const { sessionId } = await server.call("session/start");
  await server.call("agent/prompt", { sessionId: sessionId ?? null, text: "go" });
  server.child.kill("SIGSTOP");
  const waits = assert.rejects(server.call("opal/ping"), /the server exited: code null, signal SIGKILL/);
  server.child.kill("SIGKILL");
  await waits;
});
