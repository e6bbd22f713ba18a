import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";

import type { RpcClient } from "../src/client.js";
import { AgentError, RefusedError, RunFailedError } from "../src/error.js";
import { UNKNOWN, type UnknownEvent } from "../src/event.js";
import { type Diagnostic, type OpenDialog, omp, opal, operator, pi, pisces } from "../src/index.js";
import type { Events, Run } from "../src/run.js";
import type { AnyTypes } from "../src/spec.js";
import { respawn, spawn } from "../src/stdio.js";
import { Termination } from "../src/termination.js";
import type { Transport } from "../src/transport.js";
import { FakeAgent, PATIENCE, failure, settle, soon } from "./support/agent.js";
import { readText } from "./support/files.js";

type Step =
  | { call: string; params: object; as: string; timeout_ms?: number; unlimited?: true }
  | { call_many: string; params: object; n: number }
  | ({ run_failed: string } & Failure)
  | { run: string; params: object; as: string }
  | { listen: true }
  | { hear: string; as: string }
  | { say: string[] }
  | { say_many: string; n: number }
  | { say_split: string; size: number }
  | { say_parts: (string | { repeat: string; n: number })[]; open?: true }
  | { say_base64: string }
  | { say_unterminated: string }
  | { close: true }
  | { answered: string; data?: unknown }
  | ({ failed: string } & Failure)
  | { events_of: string; n: number }
  | { event: string; raw: string }
  | { unknown: string; raw: string }
  | { ended: string; by: string; events: string[]; confirmed?: boolean; aborted?: boolean; run_failure?: RunFailure }
  | { dropped: number }
  | { revision: string }
  | { heard: object }
  | { let_go: true }
  | { kill_left: true }
  | { gone: true }
  | { again: true }
  | { asked: number }
  | { withdrawn: number }
  | { answer_held: number; members: Record<string, unknown> }
  | { unheard: true }
  | { over: number }
  | { diagnostics: string[] };

/**
 * Question whose handler waits until a step of the case answers it, even if no caller awaits the answer any
 * more.
 */
interface HeldQuestion {
  readonly signal: AbortSignal;
  answer(value: unknown): void;
}

interface RunFailure {
  message: string;
  code: string | null;
  retryable: boolean;
}

interface Failure {
  kind: string;
  names?: string[];
  reason?: string;
  attributed?: boolean;
  failure?: string | null;
  retryable?: boolean;
  closed_by_us?: boolean;
  exit_code?: number;
  signal?: string;
  stderr?: string;
}

interface Case {
  name: string;
  row: string;
  dialect: string;
  options?: { max_line?: number; queue_bytes?: number; overflow?: string; tap?: "fails"; timeout_ms?: number; dialogs?: "fails" | "never" | "held" | { answers: unknown }; eof_grace_ms?: number; term_grace_ms?: number };
  spawn?: string[];
  spawn_fails?: string;
  repeat?: number;
  steps: Step[];
}

const cases = ["client.json", "client_ends.json", "client_failures.json", "client_live.json"].flatMap((name) => JSON.parse(readText("conformance", "vectors", name)) as Case[]);

const clients = { pi: pi.Client, omp: omp.Client, pisces: pisces.Client, operator: operator.Client, opal: opal.Client };
type ClientConstructor = new (transport: Transport, options?: object) => RpcClient<AnyTypes>;

/** Returns the options of a case for a client and its process. */
function optionsOf({ options }: Case, diagnostics: string[], held: HeldQuestion[]): object {
  const fail = (): never => {
    throw new Error("on purpose");
  };
  const diagnostic = ({ kind }: Diagnostic): void => void diagnostics.push(kind);
  const never = (): Promise<never> => new Promise(() => undefined);
  const hold = (_: unknown, { signal }: OpenDialog): Promise<unknown> =>
    new Promise((answer) => held.push({ signal, answer }));
  const how = options?.dialogs ?? "never";
  const confirm = typeof how === "object" ? () => how.answers : { fails: fail, never, held: hold }[how];
  return {
    tap: options?.tap === "fails" ? { frame: fail } : { diagnostic },
    dialogs: options?.dialogs === undefined ? undefined : { confirm },
    maxLine: options?.max_line,
    timeout: options?.timeout_ms,
    queueBytes: options?.queue_bytes,
    overflow: options?.overflow,
    eofGrace: options?.eof_grace_ms,
    termGrace: options?.term_grace_ms,
  };
}

/** One case that is being played. */
class CaseRunner {
  agent: FakeAgent;
  readonly diagnostics: string[];
  client: RpcClient<AnyTypes>;
  readonly #held: HeldQuestion[];
  readonly #calls = new Map<string, Promise<unknown>>();
  readonly #runs = new Map<string, Promise<Run<AnyTypes>>>();
  readonly #ids = new Map<string, string>();
  #events: ReturnType<Events<AnyTypes>["withRaw"]> | undefined;

  /** Opens the client of a case; its agent is in memory if the case starts no process. */
  static async open(vector: Case): Promise<CaseRunner> {
    const diagnostics: string[] = [];
    const held: HeldQuestion[] = [];
    const make = clients[vector.dialect as keyof typeof clients] as unknown as ClientConstructor;
    const agent = new FakeAgent(1 << 22);
    const options = optionsOf(vector, diagnostics, held);
    const client = vector.spawn ? await spawn(make, vector.spawn, options) : new make(agent.transport, options);
    return new CaseRunner(agent, client, diagnostics, held, (next) => new make(next.transport, options));
  }

  readonly #connect: (agent: FakeAgent) => RpcClient<AnyTypes>;

  private constructor(
    agent: FakeAgent,
    client: RpcClient<AnyTypes>,
    told: string[],
    held: HeldQuestion[],
    connect: (agent: FakeAgent) => RpcClient<AnyTypes>,
  ) {
    this.agent = agent;
    this.client = client;
    this.diagnostics = told;
    this.#held = held;
    this.#connect = connect;
  }

  /** Returns the question with that number, which must exist. */
  #question(number: number): HeldQuestion {
    return this.#held[number] ?? assert.fail("nobody asked that");
  }

  /**
   * Sends a call and answers it. Afterwards the client has processed all earlier lines, and the test has
   * checked that it sent no other line.
   */
  async #roundTrip(): Promise<void> {
    const call = this.client.request("are_you_there", {});
    const { id, ...line } = await soon(this.agent.expect("are_you_there"));
    if ("jsonrpc" in line) await this.agent.send({ jsonrpc: "2.0", id, result: {} });
    else await this.agent.answer({ id: id ?? null, ...line });
    await soon(call);
  }

  async play(step: Step): Promise<void> {
    if ("call" in step) {
      const call = this.client.request(step.call, step.params, { timeout: step.unlimited ? 0 : step.timeout_ms });
      call.catch(() => undefined);
      this.#calls.set(step.as, call);
    } else if ("call_many" in step) {
      const calls = Array.from({ length: step.n }, () => this.client.request(step.call_many, step.params));
      const lines = [];
      for (const _ of calls) lines.push(await soon(this.agent.expect(step.call_many)));
      for (const { id: _, type: __, ...params } of lines) assert.deepEqual(params, step.params);
      assert.equal(new Set(lines.map(({ id }) => id)).size, step.n);
      for (const line of lines.reverse()) await this.agent.answer(line);
      await soon(Promise.all(calls));
    } else if ("run" in step) {
      const method = (this.client as unknown as Record<string, (params: object) => Promise<Run<AnyTypes>>>)[
        camel(step.run.replaceAll("/", "_"))
      ];
      assert.ok(method !== undefined);
      const run = method.call(this.client, step.params);
      run.catch(() => undefined);
      this.#runs.set(step.as, run);
    } else if ("listen" in step) {
      this.#events = this.client.events().withRaw();
    } else if ("hear" in step) {
      this.#ids.set(step.as, JSON.stringify((await soon(this.agent.expect(step.hear)))["id"]));
    } else if ("say" in step) {
      for (const line of step.say) await this.agent.sendBytes(`${this.#withIds(line)}\n`);
    } else if ("say_parts" in step) {
      const parts = step.say_parts.map((part) => (typeof part === "string" ? this.#withIds(part) : part.repeat.repeat(part.n)));
      await this.agent.sendBytes(`${parts.join("")}${step.open ? "" : "\n"}`);
    } else if ("say_many" in step) {
      await this.agent.sendBytes(`${this.#withIds(step.say_many)}\n`.repeat(step.n));
    } else if ("say_split" in step) {
      const bytes = new TextEncoder().encode(`${this.#withIds(step.say_split)}\n`);
      for (let at = 0; at < bytes.length; at += step.size) await this.agent.sendBytes(bytes.slice(at, at + step.size));
    } else if ("say_base64" in step) {
      await this.agent.sendBytes(new Uint8Array(Buffer.from(step.say_base64, "base64")));
    } else if ("say_unterminated" in step) {
      await this.agent.sendBytes(this.#withIds(step.say_unterminated));
    } else if ("close" in step) {
      await this.agent.end();
    } else if ("answered" in step) {
      const data = await soon(this.#calls.get(step.answered) ?? Promise.reject(new Error("no such call")));
      if ("data" in step) assert.deepEqual(data, step.data);
    } else if ("failed" in step) {
      check(await failure(this.#calls.get(step.failed) ?? Promise.resolve()), step);
    } else if ("events_of" in step) {
      for (let n = 0; n < step.n; n++) {
        const { value } = await soon(this.#events?.next() ?? Promise.reject(new Error("nobody listens")));
        assert.equal((value?.event as { type: string }).type, step.events_of);
      }
    } else if ("event" in step || "unknown" in step) {
      const { value } = await soon(this.#events?.next() ?? Promise.reject(new Error("nobody listens")));
      const event = value?.event as { type: string } | UnknownEvent;
      if ("event" in step) assert.equal(event.type, step.event);
      else assert.ok(event.type === UNKNOWN && "name" in event && event.name === step.unknown);
      assert.equal(withoutEnvelope(value?.raw ?? ""), step.raw);
    } else if ("run_failed" in step) {
      const run = this.#runs.get(step.run_failed) ?? Promise.reject(new Error("no such run"));
      check(await failure(run.then((run) => run.result())), step);
    } else if ("ended" in step) {
      const run = await soon(this.#runs.get(step.ended) ?? Promise.reject(new Error("no such run")));
      const types: string[] = [];
      const reading = (async () => {
        for await (const event of run) types.push((event as { type: string }).type);
      })();
      // The end of a run may wait for the declared limit.
      if (step.run_failure === undefined) await soon(reading);
      else for (const failed of [await failure(reading), await failure(run.result())]) isFailure(failed, step.run_failure);
      assert.deepEqual(types, step.events);
      const result = await soon(run.wait());
      assert.equal(result.failure === undefined, step.run_failure === undefined);
      assert.equal(result.endedBy, step.by);
      if (step.aborted !== undefined) assert.equal(result.aborted, step.aborted);
      if (step.confirmed !== undefined) assert.equal(result.confirmed, step.confirmed);
    } else if ("revision" in step) {
      assert.equal(this.client.revision, step.revision);
    } else if ("dropped" in step) {
      assert.equal(this.client.droppedEvents, step.dropped);
    } else if ("heard" in step) {
      assert.deepEqual(await soon(this.agent.receive()), step.heard);
    } else if ("again" in step) {
      this.agent = new FakeAgent(1 << 22);
      this.client = this.client.processId === undefined ? this.#connect(this.agent) : await respawn(this.client);
    } else if ("asked" in step) {
      await eventually(() => this.#held.length >= step.asked, "a question");
    } else if ("withdrawn" in step) {
      await eventually(() => this.#question(step.withdrawn).signal.aborted, "the end of the question");
    } else if ("answer_held" in step) {
      this.#question(step.answer_held).answer(Object.values(step.members)[0]);
    } else if ("unheard" in step) {
      await this.#roundTrip();
    } else if ("over" in step) {
      assert.equal((await soon(this.client.terminated)).exit?.code, step.over);
    } else if ("let_go" in step) {
      await soon(this.client.close());
    } else if ("kill_left" in step) {
      const group = this.client.processId ?? assert.fail("the agent is no process");
      assert.ok(aliveInGroup(group), "a process of the agent's group is left");
      process.kill(-group, "SIGKILL");
    } else if ("gone" in step) {
      const group = this.client.processId ?? assert.fail("the agent is no process");
      await eventually(() => !aliveInGroup(group), "the end of its processes");
    } else {
      await settle();
      assert.deepEqual(this.diagnostics, step.diagnostics);
    }
  }

  #withIds(text: string): string {
    return text.replace(/\$([a-z])\b/g, (whole, name: string) => this.#ids.get(name) ?? whole);
  }
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the text of the inner event object of a line, without the envelope. */
function withoutEnvelope(line: string): string {
  const envelope = /^\{(?:"jsonrpc":"2\.0","method":"agent\/event","params"|"type": ?"event", ?"event"): ?(.*)\}$/;
  return line.match(envelope)?.[1] ?? line;
}

async function eventually(holds: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + PATIENCE;
  while (!holds()) {
    assert.ok(Date.now() < deadline, `waited for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Fails unless the error is the failure that the case expects. */
function check(error: unknown, expected: Failure): void {
  assert.ok(error instanceof AgentError, String(error));
  // A rejection has either its own kind or the kind of a documented failure.
  assert.equal(error instanceof RefusedError ? "refused" : error.kind, expected.kind);
  for (const name of expected.names ?? []) assert.ok(error.message.includes(name), `${name} is not in: ${error.message}`);
  if (expected.reason !== undefined) assert.ok(error instanceof RefusedError && error.message === expected.reason);
  if (expected.attributed !== undefined) assert.ok(error instanceof RefusedError && error.attributed === expected.attributed);
  if (expected.failure !== undefined) assert.ok(error instanceof RefusedError && (error.failure ?? null) === expected.failure);
  if (expected.retryable !== undefined) assert.equal(error.isRetryable, expected.retryable);
  if (expected.closed_by_us !== undefined) assert.ok(error instanceof Termination && error.isClosedByUs === expected.closed_by_us);
  if (expected.exit_code === undefined && expected.signal === undefined && expected.stderr === undefined) return;
  assert.ok(error instanceof Termination);
  if (expected.exit_code !== undefined) assert.equal(error.exit?.code, expected.exit_code);
  if (expected.signal !== undefined) assert.equal(error.exit?.signal, expected.signal);
  if (expected.stderr !== undefined) assert.equal(error.stderrTail.trimEnd().split("\n").at(-1), expected.stderr);
}

/** Fails if a run did not fail as a case expects. */
function isFailure(error: unknown, { message, code, retryable }: RunFailure): void {
  assert.ok(error instanceof RunFailedError, String(error));
  assert.deepEqual([error.message, error.code ?? null, error.isRetryable], [message, code, retryable]);
}

/** Returns `true` if a process of that group is alive. */
function aliveInGroup(group: number): boolean {
  return readdirSync("/proc").some((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state = "Z", , its] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(its) === group && !"ZX".includes(state);
    } catch {
      return false;
    }
  });
}

async function play(vector: Case): Promise<void> {
  if (vector.spawn_fails !== undefined) return check(await failure(CaseRunner.open(vector)), { kind: vector.spawn_fails });
  const stage = await CaseRunner.open(vector);
  for (const step of vector.steps) await stage.play(step);
  await soon(stage.client.close());
}

describe("client vectors", () => {
  for (const vector of cases) {
    test(`fm_${vector.row} ${vector.name}`, async () => {
      if (vector.repeat === undefined) return play(vector);
      const held = (): number => readdirSync("/proc/self/fd").length;
      for (let n = 0; n < 5; n++) await play(vector);
      const before = held();
      for (let n = 0; n < Number(process.env["AGENTESE_CYCLES"] ?? vector.repeat); n++) await play(vector);
      const deadline = Date.now() + PATIENCE;
      while (held() > before + 2 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
      assert.ok(held() <= before + 2, `${held()} descriptors, ${before} before`);
    });
  }
});
