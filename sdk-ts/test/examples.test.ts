import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn as start } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { pi } from "../src/index.js";
import { spawn } from "../src/stdio.js";
import { PATIENCE, failure, soon } from "./support/agent.js";
import { PACKAGE, REPOSITORY } from "./support/files.js";

const NAMES = ["streaming", "dialogs", "ten_at_once", "supervisor", "agent", "replay", "sse", "ctrl_c", "any"];

/** Path of the reference agent's program. */
const AGENT = join(process.env["CARGO_TARGET_DIR"] ?? join(REPOSITORY, "target"), "debug", "agentese");

/** Folder for the files of the examples. */
const scratch = mkdtempSync(join(tmpdir(), "agentese-examples-"));
const started: ChildProcessWithoutNullStreams[] = [];
after(() => {
  for (const child of started) child.kill("SIGKILL");
  rmSync(scratch, { recursive: true });
});

const compiled = (name: string): string => join(PACKAGE, "build", "examples", `${name}.js`);

/**
 * Returns the command line of the reference agent with a scripted model, which gives these answers.
 */
function agent(responses: object[] | undefined, ...more: string[]): string[] {
  assert.ok(existsSync(AGENT), `${AGENT} is missing: cargo build -p agentese-cli`);
  const script = join(scratch, `script-${crypto.randomUUID()}.json`);
  if (responses !== undefined) writeFileSync(script, JSON.stringify({ responses }));
  const model = ["--provider", "scripted", ...(responses === undefined ? [] : ["--script", script])];
  return [AGENT, "--mode", "rpc", ...model, ...more];
}

/** Example that runs as a child process. */
class Example {
  output = "";
  errors = "";
  readonly child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<number | null>;
  #woken: () => void = () => undefined;

  constructor(name: string, ...args: string[]) {
    const env = { ...process.env, AGENTESE_HOME: join(scratch, "home"), HOME: scratch };
    // `node --test` sets this variable. With it, an example that is a test would report to this run.
    delete (env as Record<string, unknown>)["NODE_TEST_CONTEXT"];
    this.child = start(process.execPath, [compiled(name), ...args], { cwd: scratch, env });
    started.push(this.child);
    this.child.stdin.on("error", () => undefined);
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.output += text;
      this.#woken();
    });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => (this.errors += text));
    this.#ended = new Promise((resolve) => this.child.on("close", (code) => {
      this.#woken();
      resolve(code);
    }));
  }

  /** Waits until the output matches. */
  async shows(pattern: RegExp): Promise<RegExpMatchArray> {
    for (const deadline = Date.now() + PATIENCE; ; ) {
      const found = this.output.match(pattern);
      if (found !== null) return found;
      assert.ok(this.child.exitCode === null && Date.now() < deadline, `no ${pattern} in: ${this.output}${this.errors}`);
      await soon(new Promise<void>((resolve) => (this.#woken = resolve)));
    }
  }

  /** Waits for the end, and returns the whole output. */
  async end(): Promise<string> {
    const code = await soon(this.#ended);
    assert.equal(code, 0, this.output + this.errors);
    return this.output;
  }
}

test("there are nine examples of less than 40 lines", () => {
  for (const name of NAMES) {
    const lines = readFileSync(join(PACKAGE, "examples", `${name}.ts`), "utf8").trimEnd().split("\n");
    assert.ok(lines.length < 40, `${name}.ts has ${lines.length} lines`);
    assert.match(lines[0] ?? "", /^\/\/ [A-Z].*\.( |$)/, `${name}.ts says what it does`);
    assert.ok(lines.every((line) => line.length <= 140 || line.startsWith('{"dir"')), `${name}.ts has short lines`);
  }
});

test("streaming", async () => {
  const bash = { blocks: [{ tool: { name: "bash", args: { command: "ls" } } }] };
  const example = new Example("streaming", ...agent([bash, { text: "There are files." }], "--no-session"));
  assert.equal(await example.end(), "There are files.\n");
  assert.equal(example.errors, "[bash]\n");
});

test("dialogs", async () => {
  const extension = join(REPOSITORY, "extensions", "examples", "python", "dialogs.py");
  const example = new Example("dialogs", ...agent([], "--no-session", "-e", extension));
  for (const [question, answer] of [
    [/Which colour\? \(red, green, blue\)/, "green"],
    [/Sure\? It will be green\. \(yes, no\)/, "yes"],
    [/What is it called\?/, "grass"],
    [/Describe it/, ""],
  ] as const) {
    await example.shows(question);
    example.child.stdin.write(`${answer}\n`);
  }
  await example.shows(/colour: green[^]*name: grass[^]*That is all\./);
  example.child.stdin.end();
  await example.end();
});

test("any agent", async () => {
  for (const [dialect, seen] of [["pi", "pi"], ["omp", "omp"], ["pisces", "omp"], ["operator", "operator"], ["opal", "opal"]] as const) {
    const [program = "", ...words] = agent([{ text: "Here." }], "--dialect", dialect);
    assert.equal(await new Example("any", "What is here?", program, ...words).end(), `(${seen})\nHere.\n`);
  }
});

test("ten at once, with cancellation", async () => {
  const slow = [1, 3, 5, 7, 9].map((number) => ({ when: { user: `about ${number}.` }, first_ms: 600_000, text: "late" }));
  const output = await new Example("ten_at_once", ...agent([...slow, { text: "even" }], "--no-session")).end();
  assert.equal(output, "0: even\n2: even\n4: even\n6: even\n8: even\n5 were stopped\n");
});

test("a supervisor restarts its agent and resumes the session", async () => {
  const responses = [{ when: { user: "Continue" }, text: "finished" }, { first_ms: 600_000, text: "never" }];
  const sessions = join(scratch, "sessions");
  const example = new Example("supervisor", ...agent(responses, "--session-dir", sessions));
  const [, pid] = await example.shows(/attempt 1: process (\d+) works/);
  // The agent accepts a prompt before it writes the session's file.
  const kept = (): boolean => existsSync(sessions) && readdirSync(sessions).some((file) => statSync(join(sessions, file)).size > 0);
  for (const deadline = Date.now() + PATIENCE; !kept(); ) {
    assert.ok(Date.now() < deadline, "the session's file is there");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  process.kill(Number(pid), "SIGKILL");
  const output = await example.end();
  assert.match(output, /attempt 1: the agent was killed by SIGKILL/);
  assert.match(output, /attempt 2: process \d+ works\ndone after 2 messages: finished\n$/);
});

test("an agent of one's own", async () => {
  await using client = await spawn(pi.Client, [process.execPath, compiled("agent")]);
  const words = async (run: pi.Run): Promise<string> => {
    let text = "";
    for await (const event of run) {
      const piece = event.type === "message_update" ? event.assistantMessageEvent : undefined;
      if (piece?.type === "text_delta") text += piece.delta;
    }
    return text;
  };
  assert.equal(await soon(words(await client.prompt({ message: "one two three" }))), "one two three ");
  const long = await client.prompt({ message: "word ".repeat(10_000) });
  assert.match(String(await failure(client.prompt({ message: "x" }))), /Agent is busy/);
  await client.abort();
  assert.ok((await soon(words(long))).length < 50_000);
});

test("replay in a unit test", async () => {
  const output = await new Example("replay").end();
  assert.match(output, /pass 1\n/);
  assert.match(output, /fail 0\n/);
});

test("a bridge to server-sent events", async () => {
  const responses = [{ when: { user: "slow" }, first_ms: 600_000, text: "late" }, { text: "Hello there." }];
  const example = new Example("sse", ...agent(responses, "--no-session"));
  const [address] = await example.shows(/http:\S+/);
  // The run of a browser that disconnects is aborted, so that the next prompt is accepted.
  const gone = new AbortController();
  const response = await fetch(`${address}/?message=slow`, { signal: gone.signal });
  const reader = (response.body ?? assert.fail("no body")).getReader();
  assert.match(new TextDecoder().decode((await soon(reader.read())).value), /^event: agent_start\ndata: \{.*\}\n\n/);
  gone.abort();
  await reader.read().catch(() => undefined);
  let text = "";
  for (const deadline = Date.now() + PATIENCE; !text.includes("agent_end"); ) {
    assert.ok(Date.now() < deadline, text);
    text = await (await fetch(`${address}/?message=hello`, { signal: AbortSignal.timeout(PATIENCE) })).text();
  }
  assert.match(text, /event: message_update\ndata: .*"delta":"Hello/);
  example.child.kill();
});

test("Ctrl-C stops the run and not the program", async () => {
  const responses = [{ when: { user: "slow" }, first_ms: 600_000, text: "late" }, { text: "Hello there." }];
  const example = new Example("ctrl_c", ...agent(responses, "--no-session"));
  example.child.stdin.write("slow\n");
  await example.shows(/\(Ctrl-C stops this\)/);
  example.child.kill("SIGINT");
  await example.shows(/\(stopped\)/);
  example.child.stdin.end("hello\n");
  assert.match(await example.end(), /\(stopped\)\n\(Ctrl-C stops this\)\nHello there\.\n$/);
});
