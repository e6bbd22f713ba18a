import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { RpcClient } from "../src/client.js";
import { RefusedError } from "../src/error.js";
import { UNKNOWN } from "../src/event.js";
import { type Diagnostic, Termination, omp, opal, operator, pi, pisces } from "../src/index.js";
import type { JsonObject } from "../src/generated/types.js";
import { check } from "../src/check.js";
import { shapes } from "../src/generated/shapes.js";
import type { Run } from "../src/run.js";
import { type AnyTypes, row } from "../src/spec.js";
import { endsDuringRun, memoryPair, readTranscript, recordedLine, replay } from "../src/testing.js";
import { exceptions, transcript, transcripts } from "./support/files.js";
import { soon } from "./support/agent.js";

const odd = exceptions();

/** Functions that connect the client of a dialect and send its prompts. */
interface Driver<C> {
  connect(diagnostic: (diagnostic: Diagnostic) => void): { client: C; agent: ReturnType<typeof memoryPair>[1] };
  prompt(client: C, command: string, members: JsonObject): Promise<Run<AnyTypes>>;
}

/** The methods of a client that start runs, by name. */
type Starter = Record<string, (members: JsonObject) => Promise<Run<AnyTypes>>>;

function driver<C extends RpcClient<AnyTypes>>(
  make: new (transport: ReturnType<typeof memoryPair>[0], options: { tap: object }) => C,
  methods: Record<string, string>,
): Driver<C> {
  return {
    connect(diagnostic) {
      const [ours, agent] = memoryPair();
      return { client: new make(ours, { tap: { diagnostic } }), agent };
    },
    prompt: (client, command, members) => (client as unknown as Starter)[methods[command] ?? ""]?.(members) ?? Promise.reject(new Error(command)),
  };
}

const flat = { prompt: "prompt", abort_and_prompt: "abortAndPrompt" };
const drivers: Record<string, Driver<RpcClient<AnyTypes>>> = {
  pi: driver(pi.Client as never, flat),
  omp: driver(omp.Client as never, flat),
  pisces: driver(pisces.Client as never, flat),
  operator: driver(operator.Client as never, flat),
  opal: driver(opal.Client as never, { "agent/prompt": "agentPrompt" }),
};

interface PlayedSession {
  prompts: number;
  ended: number;
  events: number;
}

/**
 * Replays a session to its end. Checks that all events arrive byte for byte, and that every run that ends in
 * the recording ends here.
 */
async function play(dialect: string, scenario: string, text: string): Promise<PlayedSession> {
  const how = drivers[dialect];
  assert.ok(how !== undefined);
  const noise: Diagnostic[] = [];
  const { client, agent } = how.connect((diagnostic) => {
    if (diagnostic.kind === "noise" || diagnostic.kind === "framing") noise.push(diagnostic);
  });
  const { spec } = client;
  const rpc = spec.framing === "json-rpc";
  const { records } = readTranscript(text);
  const listed = [...odd].some((line) => line.startsWith(`${dialect}/${scenario} server `));
  const cut = endsDuringRun(spec, records);
  const events = client.events().withRaw();
  const playing = replay(spec, text, agent).catch(() => undefined);
  const runs: Promise<Run<AnyTypes>>[] = [];
  const played: PlayedSession = { prompts: 0, ended: 0, events: 0 };
  for (const record of records) {
    if (!("dir" in record)) continue;
    if (record.dir === "ctl" && record.event === "exit") break;
    const line = recordedLine(record);
    if (line === undefined) continue;
    if (record.dir === "s2c") {
      if (!isEvent(line, rpc, spec.dialogFrames?.request)) continue;
      const { value, done } = await soon(events.next());
      assert.ok(!done);
      assert.equal(value.raw, line, "another event came");
      if (value.event.type !== UNKNOWN && !listed) fits(value.event as unknown as JsonObject);
      played.events++;
    } else {
      const frame = asObject(line);
      const command = String(frame?.[rpc ? "method" : "type"] ?? "");
      const { type: _type, id: _id, ...flatMembers } = frame ?? {};
      const members = rpc ? ((frame?.["params"] ?? {}) as JsonObject) : flatMembers;
      const known = row(spec.commands, command);
      if (known === undefined || members["message"] === null) quiet(client.sendRaw(line.replace(/\r$/, "")));
      else if (known.run === "starts") runs.push(quiet(how.prompt(client, command, members)));
      else quiet(client.request(command, members));
    }
  }
  for (const starting of runs) {
    played.prompts++;
    try {
      await soon((await soon(starting)).wait());
      // If the recording is cut off, the end of the last run depends on timing, so it is not counted.
      if (!cut) played.ended++;
    } catch (error) {
      assert.ok(error instanceof RefusedError || (cut && error instanceof Termination), String(error));
    }
  }
  assert.ok(noise.length === 0 || listed, JSON.stringify(noise));
  await soon(client.close());
  await soon(playing);
  return played;
}

/** Ignores failures of commands that are invalid on purpose. */
function quiet<V>(promise: Promise<V>): Promise<V> {
  promise.catch(() => undefined);
  return promise;
}

function asObject(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

function isEvent(line: string, rpc: boolean, request: string | undefined): boolean {
  const frame = asObject(line);
  if (rpc) return frame?.["method"] === "agent/event";
  return typeof frame?.["type"] === "string" && frame["type"] !== "response" && frame["type"] !== request;
}

/** Checks that an event fits the declared type with its tag, or one of them if dialects share the tag. */
function fits(event: JsonObject): void {
  const types = Object.entries(shapes).filter(([, shape]) => {
    const tag = "members" in shape ? shape.members["type"] : undefined;
    return tag !== undefined && "value" in tag && tag.value === event["type"];
  });
  assert.ok(types.some(([name]) => check(shapes, name, event) === undefined), JSON.stringify(event).slice(0, 300));
}

/** Recordings about framing, whose clients wrote partial lines. Other tests cover framing. */
const ABOUT_WRITING = /ext-stdout-noise|split-writes|trailing-newline|partial_line|long-line|proto-malformed|proto-empty-lines/;

/**
 * Expected numbers of sessions, of sent prompts, and of completed prompts. The replay in Rust sends fewer
 * prompts of pi, omp and Opal, because its types cannot express prompts that are invalid on purpose.
 */
const EXPECTED: Record<string, [sessions: number, prompts: number, ended: number]> = {
  pi: [96, 143, 139],
  omp: [78, 74, 66],
  pisces: [36, 60, 45],
  operator: [4, 4, 3],
  opal: [31, 35, 31],
};

describe("recorded sessions of all five agents", () => {
  for (const dialect of Object.keys(drivers)) {
    test(`${dialect}: every session is played to its end`, { timeout: 120_000 }, async () => {
      const total: PlayedSession & { sessions: number } = { sessions: 0, prompts: 0, ended: 0, events: 0 };
      const files = transcripts().filter((file) => file.dialect === dialect && !ABOUT_WRITING.test(file.scenario));
      // A session mostly waits, so several are replayed concurrently.
      const next = files.values();
      const player = async (): Promise<void> => {
        for (const { scenario, text } of next) {
          const played = await soon(play(dialect, scenario, text)).catch((error: unknown) => {
            throw new Error(`${dialect}/${scenario}: ${String(error)}`, { cause: error });
          });
          total.sessions++;
          total.prompts += played.prompts;
          total.ended += played.ended;
          total.events += played.events;
        }
      };
      await Promise.all(Array.from({ length: 8 }, player));
      console.log(
        `${dialect}: ${total.sessions} sessions, ${total.events} events, ${total.prompts} prompts, ${total.ended} runs ended`,
      );
      assert.deepEqual([total.sessions, total.prompts, total.ended], EXPECTED[dialect]);
    });
  }
});

for (const scenario of ["prompt-text-anthropic", "tool-multi", "retry-final-failure"]) {
  test(`pi/${scenario} ends as recorded`, async () => {
    const text = transcript("pi", scenario);
    const prompts = text.split("\n").filter((line) => /"dir": "c2s".*\\"type\\":\\"prompt\\"/.test(line)).length;
    const played = await soon(play("pi", scenario, text));
    assert.ok(prompts > 0);
    assert.deepEqual([played.prompts, played.ended], [prompts, prompts]);
  });
}

test("a command that the transcript does not have fails, and the failure names it", async () => {
  const header = '{"transcript":1,"dialect":"pi"}';
  const [ours, agent] = memoryPair();
  const playing = replay(pi.spec, `${header}\n`, agent);
  const client = new pi.Client(ours);
  for (const call of [client.getSessionStats(), client.request("teleport")]) {
    const error = await soon(call.then(() => undefined, (error: unknown) => error));
    assert.ok(error instanceof RefusedError);
    assert.equal(error.message, `the transcript has no answer to \`${error.command}\``);
  }
  await client.close();
  await soon(playing);
  const [others, other] = memoryPair();
  const second = replay(opal.spec, `${header}\n`, other);
  const rpc = new opal.Client(others);
  await assert.rejects(soon(rpc.opalVersion()), /no answer to `opal\/version`/);
  await rpc.close();
  await soon(second);
});
