import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";

import { Agent, type AgentOptions, type AnyEvent, type AnyRun, NotInDialectError, NotRecognisedError, type Question, connect, differences } from "../src/any.js";
import { neutral } from "../src/generated/intents/index.js";
import type { TranscriptLine } from "../src/generated/types.js";
import { RunLimits, omp, opal, pi } from "../src/index.js";
import { spawnChild } from "../src/stdio.js";
import { readTranscript, recordedLine } from "../src/testing.js";
import { View } from "../src/ui.js";
import { soon } from "./support/agent.js";
import { REPOSITORY, readText, transcripts } from "./support/files.js";
import { digestOf } from "./support/view.js";

/** Summary of a recorded session: number of events by type, and a digest. */
interface SessionSummary {
  transcript: string;
  events: Record<string, number>;
  digest: string;
}

function summarize(dialect: string, scenario: string, text: string): SessionSummary {
  const view = View.open(dialect);
  const all: AnyEvent[] = [];
  for (const record of readTranscript(text).records) {
    const line = recordedLine(record);
    if (line === undefined) continue;
    const { dir, t } = record as TranscriptLine;
    const before = view.conversation;
    all.push(...differences(before, dir === "c2s" ? view.sent(line, t) : view.received(line, t)));
  }
  const events: Record<string, number> = {};
  for (const { type } of all) events[type] = (events[type] ?? 0) + 1;
  const sorted = Object.fromEntries(Object.entries(events).sort(([one], [other]) => (one < other ? -1 : 1)));
  return { transcript: `${dialect}/${scenario}`, events: sorted, digest: digestOf(all) };
}

const VECTORS = ["conformance", "vectors", "any.json"];

test("every recorded session emits the events of the vectors", () => {
  const dialects = Object.keys((JSON.parse(readText("conformance", "vectors", "view.json")) as { unannounced: object }).unannounced);
  const sessions = transcripts()
    .filter(({ dialect }) => dialects.includes(dialect))
    .map(({ dialect, scenario, text }) => summarize(dialect, scenario, text));
  if (process.env["ANY_VECTORS"] === "write") {
    const lines = sessions.map((session) => `    ${JSON.stringify(session)}`).join(",\n");
    writeFileSync(join(REPOSITORY, ...VECTORS), `{\n  "sessions": [\n${lines}\n  ]\n}\n`);
  }
  assert.ok(sessions.length > 200);
  assert.deepEqual(sessions, (JSON.parse(readText(...VECTORS)) as { sessions: SessionSummary[] }).sessions);
});

/** Path of the reference agent's program. */
const AGENT = join(process.env["CARGO_TARGET_DIR"] ?? join(REPOSITORY, "target"), "debug", "agentese");

/**
 * The agents to start, each with its detected dialect and the name of its shell tool. An idle pisces cannot
 * be distinguished from omp.
 */
const AGENTS = [
  ["pi", "pi", "bash"],
  ["pi@1.5", "pi", "bash"],
  ["omp", "omp", "bash"],
  ["pisces", "omp", "bash"],
  ["operator", "operator", "bash"],
  ["opal", "opal", "shell"],
] as const;

const scratch = mkdtempSync(join(tmpdir(), "agentese-any-"));
after(() => rmSync(scratch, { recursive: true }));

async function start(dialect: string, script: object, options: AgentOptions = {}): Promise<Agent> {
  assert.ok(existsSync(AGENT), `${AGENT} is missing: cargo build -p agentese-cli`);
  const place = mkdtempSync(join(scratch, "agent-"));
  mkdirSync(join(place, "work"));
  writeFileSync(join(place, "script.json"), JSON.stringify(script));
  const command = [AGENT, "--mode", "rpc", "--dialect", dialect, "--script", join(place, "script.json")];
  const env = { ...process.env, HOME: place, AGENTESE_HOME: undefined, OPAL_HOME: undefined };
  const agent = await soon(connect(await spawnChild(command, { cwd: join(place, "work"), env }), options));
  after(() => agent.close());
  return agent;
}

async function all(run: AnyRun): Promise<AnyEvent[]> {
  const events: AnyEvent[] = [];
  const read = async (): Promise<void> => {
    for await (const event of run) events.push(event);
  };
  await soon(read());
  return events;
}

test("a run of an agent of any dialect has limits", async () => {
  for (const [started, , tool] of AGENTS) {
    const call = (id: number) => ({ blocks: [{ tool: { id: `call-${id}`, name: tool, args: { command: `echo ${id}` } } }] });
    const agent = await start(started, { responses: [call(1), call(2), call(3), { text: "never" }], default: { text: "done" } });
    const run = await agent.prompt("go", { limits: new RunLimits({ maxTurns: 2 }) });
    await assert.rejects(soon(all(run)), { name: "RunFailedError", code: "max_turns" }, started);
    const { failure } = await soon(run.wait());
    assert.equal(failure?.message, "the run was stopped: it has had 2 turns, which is its limit");
    await soon(agent.close());
  }
});

const textsOf = (agent: Agent, role: string): string[] =>
  agent.conversation.messages
    .filter((message) => message.role === role)
    .map(({ blocks }) => blocks.map((block) => (block.type === "text" ? block.text : "")).join(""));

describe("an agent of any dialect", () => {
  for (const [started, seen, tool] of AGENTS) {
    test(`emits events in order (${started})`, async () => {
      const call = { id: "call-1", name: tool, args: { command: "echo hi" } };
      const agent = await start(started, {
        responses: [
          { blocks: [{ thinking: ["Hm. ", "Yes."] }, { text: ["One. ", "Two."] }, { tool: call }] },
          { blocks: [{ text: ["Done."] }], usage: { input: 50, output: 5 } },
        ],
      });
      assert.equal(agent.dialect, seen);
      const run = await agent.prompt("Hello");
      const events = await all(run);
      assert.equal((await run.result()).text, "Done.");
      const grown = (type: AnyEvent["type"]) => events.map((event) => (event.type === type && "text" in event ? event.text : "")).join("");
      assert.deepEqual([grown("textGrew"), grown("thinkingGrew")], ["One. Two.Done.", "Hm. Yes."]);
      const at = (is: (event: AnyEvent) => boolean) => events.findIndex(is);
      const places = [
        at((event) => event.type === "messageEnded" && event.message.role === "user"),
        at((event) => event.type === "messageBegan" && event.role === "assistant"),
        at((event) => event.type === "textGrew"),
        at((event) => event.type === "toolStarted" && event.name === tool),
        at((event) => event.type === "toolEnded" && event.state === "done" && JSON.stringify(event.result).includes("hi")),
        events.findLastIndex((event) => event.type === "messageEnded" && event.message.role === "assistant"),
        events.findLastIndex((event) => event.type === "state" && event.state === "idle"),
      ];
      assert.deepEqual(places, [...places].sort((one, other) => one - other), JSON.stringify(events));
      assert.ok((places[0] as number) >= 0);
      assert.deepEqual(textsOf(agent, "user"), ["Hello"]);
      if (agent.supports("messages")) assert.equal((await agent.messages()).filter(({ role }) => role === "assistant").length, textsOf(agent, "assistant").length);
      const state = await agent.state();
      assert.equal(state.working, false);
      // Operator has no statistics; its state reports the number of entries.
      if (agent.supports("stats")) {
        const { messages } = await agent.stats();
        assert.equal(messages, seen === "operator" ? undefined : state.messages);
        assert.equal(typeof messages, seen === "operator" ? "undefined" : "number");
      }
      await agent.close();
    });

    test(`is steered and stopped (${started})`, async () => {
      const go = join(mkdtempSync(join(scratch, "go-")), "go");
      const call = { id: "call-1", name: tool, args: { command: `until [ -e ${go} ]; do sleep 0.01; done` } };
      const agent = await start(started, {
        responses: [
          { blocks: [{ text: ["First."] }, { tool: call }] },
          { when: { user: "other way" }, text: "Changed." },
          { when: { user: "Go on" }, blocks: [{ text: Array.from({ length: 400 }, () => "a ") }], delay_ms: 25 },
        ],
        default: { text: "Then." },
      });
      const run = await agent.prompt("Hello");
      // The client detects the revision from the events that arrive.
      for await (const { type } of run) if (type === "textGrew") break;
      if (agent.supports("steer")) {
        assert.ok(["queued", undefined].includes(await soon(agent.steer("other way"))));
        writeFileSync(go, "");
        assert.equal((await soon(run.result())).text, "Changed.");
        assert.deepEqual(textsOf(agent, "user"), ["Hello", "other way"]);
      } else {
        writeFileSync(go, "");
        await soon(run.result());
      }
      const slow = await agent.prompt("Go on");
      for await (const { type } of slow) if (type === "textGrew") break;
      await soon(agent.abort());
      await soon(slow.result());
      assert.equal((await agent.state()).working, false);
      assert.equal(agent.conversation.run.state, "idle");
      await agent.close();
    });

    test(`rejects unsupported intents before sending (${started})`, async () => {
      const agent = await start(started, { responses: [] });
      if (agent.supports("models")) assert.ok((await agent.models()).some(({ id }) => id === "scripted"));
      for (const intent of Object.keys(neutral) as (keyof typeof neutral)[]) {
        if (agent.supports(intent)) continue;
        await assert.rejects(agent.call(intent), (error: Error) => {
          return error instanceof NotInDialectError && error.message.includes(intent) && error.message.includes(seen);
        });
      }
      assert.deepEqual(agent.conversation.notices, []);
      const typed = [agent.as(pi.Client), agent.as(omp.Client), agent.as(opal.Client)].map((client) => client !== undefined);
      assert.deepEqual(typed, ["pi", "omp", "opal"].map((name) => name === seen));
      await agent.close();
    });
  }

  test("asks its questions in one form", async () => {
    const call = { id: "q", name: "ask_user", args: { question: "Which colour?", choices: ["red", "blue"] } };
    const questions: Question[] = [];
    const onQuestion = (question: Question): string | undefined => {
      questions.push(question);
      return question.options?.[1];
    };
    const agent = await start("opal", { responses: [{ blocks: [{ tool: call }] }, { text: "Thanks." }] }, { onQuestion });
    const events = await all(await agent.prompt("Ask"));
    assert.deepEqual(questions, [{ method: "client/ask_user", kind: "select", title: "Which colour?", options: ["red", "blue"] }]);
    const kinds = events.map(({ type }) => type);
    assert.ok(kinds.indexOf("asked") >= 0 && kinds.indexOf("asked") < kinds.indexOf("answered"));
    assert.ok(JSON.stringify(events.find(({ type }) => type === "toolEnded")).includes("blue"));
  });

  test("follows another session of the same connection", async () => {
    const agent = await start("opal", { responses: [{ text: "One." }, { text: "Two." }] });
    await all(await agent.prompt("First"));
    const first = agent.conversation.session.id;
    const events = agent.events();
    assert.ok(await agent.newSession());
    await all(await agent.prompt("Second"));
    assert.deepEqual(textsOf(agent, "user"), ["Second"]);
    assert.deepEqual((await events.next()).value, { type: "replaced", messages: [] });
    assert.ok((await agent.listSessions()).some(({ session }) => session === first));
  });

  test("is detected as live Operator without exposing its key", async () => {
    const program = join(REPOSITORY, "conformance/tests/independent_agents/agents/operator_live.py");
    const options: AgentOptions = { onQuestion: (question) => question.options?.[1] };
    const agent = await soon(connect(await spawnChild(["python3", program]), options));
    after(() => agent.close());
    assert.equal(agent.dialect, "operator");
    const heard = agent.client.events().withRaw();
    const run = await agent.prompt("ask tool retry");
    const events = await all(run);
    assert.equal((await run.result()).text, "You said right.");
    assert.equal(agent.client.revision, "operator@live");
    assert.ok(events.some(({ type }) => type === "toolEnded"));
    // The frame with the key has arrived. The events below must not contain the key.
    const lines: string[] = [];
    for await (const { raw } of heard) {
      lines.push(raw);
      if (JSON.parse(raw).type === "settled") break;
    }
    assert.ok(lines.includes('{"type":"before_provider_request"}'), lines.join("\n"));
    assert.ok(!JSON.stringify([events, lines]).includes("made-up-provider-key-0123"));
  });

  test("is not detected when it speaks no known dialect", async () => {
    for (const command of [["cat"], ["sh", "-c", "echo '{\"hello\":1}'"], ["true"]]) {
      await assert.rejects(soon(connect(await spawnChild(command), { detectWithin: 2000 })), NotRecognisedError);
    }
    const agent = await start("pi@1.5", { responses: [] }, { dialect: "pi@1.5" });
    assert.deepEqual([agent.client.revision, agent.supports("tree")], ["pi@1.5", true]);
  });
});
