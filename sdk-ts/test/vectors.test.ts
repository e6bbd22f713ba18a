import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { RpcClient } from "../src/client.js";
import { AgentError, RefusedError } from "../src/error.js";
import { UNKNOWN, type UnknownEvent } from "../src/event.js";
import { type Diagnostic, omp, opal, operator, pi, pisces } from "../src/index.js";
import type { Events, Run } from "../src/run.js";
import type { AnyTypes } from "../src/spec.js";
import type { Transport } from "../src/transport.js";
import { FakeAgent, failure, settle, soon } from "./support/agent.js";
import { readText } from "./support/files.js";

type Step =
  | { call: string; params: object; as: string; timeout_ms?: number }
  | { run: string; params: object; as: string }
  | { listen: true }
  | { hear: string; as: string }
  | { say: string[] }
  | { say_parts: (string | { repeat: string; n: number })[] }
  | { say_base64: string }
  | { say_unterminated: string }
  | { close: true }
  | { answered: string; data?: unknown }
  | { failed: string; kind: string; reason?: string; attributed?: boolean }
  | { event: string; raw: string }
  | { unknown: string; raw: string }
  | { ended: string; by: string; events: string[] }
  | { heard: object }
  | { diagnostics: string[] };

interface Case {
  name: string;
  row: string;
  dialect: string;
  options?: { max_line?: number };
  steps: Step[];
}

const cases = JSON.parse(readText("conformance", "vectors", "client.json")) as Case[];

const clients = { pi: pi.Client, omp: omp.Client, pisces: pisces.Client, operator: operator.Client, opal: opal.Client };
type Make = new (transport: Transport, options: object) => RpcClient<AnyTypes>;

/** One case that is being played. */
class Stage {
  readonly agent = new FakeAgent(1 << 22);
  readonly told: string[] = [];
  readonly client: RpcClient<AnyTypes>;
  readonly #calls = new Map<string, Promise<unknown>>();
  readonly #runs = new Map<string, Promise<Run<AnyTypes>>>();
  readonly #ids = new Map<string, string>();
  #events: ReturnType<Events<AnyTypes>["withRaw"]> | undefined;

  constructor({ dialect, options }: Case) {
    const make = clients[dialect as keyof typeof clients] as unknown as Make;
    const tap = { diagnostic: (diagnostic: Diagnostic) => void this.told.push(diagnostic.kind) };
    this.client = new make(this.agent.transport, { tap, maxLine: options?.max_line });
  }

  async play(step: Step): Promise<void> {
    if ("call" in step) {
      const call = this.client.request(step.call, step.params, { timeout: step.timeout_ms });
      call.catch(() => undefined);
      this.#calls.set(step.as, call);
    } else if ("run" in step) {
      const method = (this.client as unknown as Record<string, (params: object) => Promise<Run<AnyTypes>>>)[step.run];
      assert.ok(method !== undefined);
      this.#runs.set(step.as, method.call(this.client, step.params));
    } else if ("listen" in step) {
      this.#events = this.client.events().withRaw();
    } else if ("hear" in step) {
      this.#ids.set(step.as, JSON.stringify((await soon(this.agent.expect(step.hear)))["id"]));
    } else if ("say" in step) {
      for (const line of step.say) await this.agent.sayBytes(`${this.#withIds(line)}\n`);
    } else if ("say_parts" in step) {
      const parts = step.say_parts.map((part) => (typeof part === "string" ? this.#withIds(part) : part.repeat.repeat(part.n)));
      await this.agent.sayBytes(`${parts.join("")}\n`);
    } else if ("say_base64" in step) {
      await this.agent.sayBytes(new Uint8Array(Buffer.from(step.say_base64, "base64")));
    } else if ("say_unterminated" in step) {
      await this.agent.sayBytes(this.#withIds(step.say_unterminated));
    } else if ("close" in step) {
      await this.agent.end();
    } else if ("answered" in step) {
      const data = await soon(this.#calls.get(step.answered) ?? Promise.reject(new Error("no such call")));
      if ("data" in step) assert.deepEqual(data, step.data);
    } else if ("failed" in step) {
      const error = await failure(this.#calls.get(step.failed) ?? Promise.resolve());
      assert.ok(error instanceof AgentError, String(error));
      assert.equal(error.kind, step.kind);
      if (step.reason !== undefined) assert.ok(error instanceof RefusedError && error.reason === step.reason);
      if (step.attributed !== undefined) assert.ok(error instanceof RefusedError && error.attributed === step.attributed);
    } else if ("event" in step || "unknown" in step) {
      const { value } = await soon(this.#events?.next() ?? Promise.reject(new Error("nobody listens")));
      const event = value?.event as { type: string } | UnknownEvent;
      if ("event" in step) assert.equal(event.type, step.event);
      else assert.ok(event.type === UNKNOWN && "name" in event && event.name === step.unknown);
      assert.equal(value?.raw, step.raw);
    } else if ("ended" in step) {
      const run = await soon(this.#runs.get(step.ended) ?? Promise.reject(new Error("no such run")));
      const types: string[] = [];
      const reading = (async () => {
        for await (const event of run) types.push((event as { type: string }).type);
      })();
      await soon(reading);
      assert.deepEqual(types, step.events);
      assert.equal((await soon(run.result())).endedBy, step.by);
    } else if ("heard" in step) {
      assert.deepEqual(await soon(this.agent.hear()), step.heard);
    } else {
      await settle();
      assert.deepEqual(this.told, step.diagnostics);
    }
  }

  #withIds(text: string): string {
    return text.replace(/\$([a-z])\b/g, (whole, name: string) => this.#ids.get(name) ?? whole);
  }
}

describe("client vectors", () => {
  for (const vector of cases) {
    test(`fm_${vector.row} ${vector.name}`, async () => {
      const stage = new Stage(vector);
      for (const step of vector.steps) await stage.play(step);
      await soon(stage.client.close());
    });
  }
});
