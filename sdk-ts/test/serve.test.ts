import assert from "node:assert/strict";
import { test } from "node:test";

import { RefusedError, omp as ompClient, opal as opalClient, operator as operatorClient, pi as piClient } from "../src/index.js";
import { type Call, CommandError, type Service, omp, opal, operator, pi, pisces, serve } from "../src/serve.js";
import type { AnyTypes } from "../src/spec.js";
import { spawn } from "../src/stdio.js";
import { memoryPair } from "../src/testing.js";
import { Framer } from "../src/framing.js";
import { failure, settle, soon, update } from "./support/agent.js";

/** Client that writes and reads plain lines. */
class Raw {
  readonly served: ReturnType<typeof serve>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #framer = new Framer();
  readonly #heard: string[] = [];

  constructor(service: Service<AnyTypes>, options: Parameters<typeof serve>[2] = {}) {
    const [ours, theirs] = memoryPair();
    this.#writer = ours.writable.getWriter();
    this.#reader = ours.readable.getReader();
    this.served = serve(service, theirs, options);
  }

  async send(...lines: string[]): Promise<void> {
    await this.#writer.write(new TextEncoder().encode(lines.map((line) => `${line}\n`).join("")));
  }

  async line(): Promise<string> {
    const sink = { line: (text: string): void => void this.#heard.push(text), error: (): void => undefined };
    while (this.#heard.length === 0) {
      const { done, value } = await soon(this.#reader.read());
      if (done) throw new Error("the agent closed its output");
      this.#framer.push(value, sink);
    }
    return this.#heard.shift() as string;
  }

  async ask(line: string): Promise<string> {
    await this.send(line);
    return this.line();
  }

  end(): Promise<void> {
    return this.#writer.close();
  }

  cut(): Promise<void> {
    return this.#reader.cancel();
  }
}

const raw = <T extends AnyTypes>(service: Service<T>, options: object = {}): Raw => new Raw(service as never, options);

class PiAgent extends pi.Service {
  name: string | undefined;
  readonly work: Promise<void>[] = [];
  release: () => void = () => undefined;

  override getState(): piClient.SessionState {
    return {
      model: null,
      thinkingLevel: "off",
      isStreaming: false,
      isCompacting: false,
      steeringMode: "all",
      followUpMode: "all",
      sessionId: "s",
      autoCompactionEnabled: true,
      messageCount: 0,
      pendingMessageCount: 0,
    };
  }

  override prompt({ message }: piClient.PromptParams, call: Call<piClient.Types>): void {
    if (message === "") throw new CommandError("there is no message");
    this.work.push(
      (async () => {
        await call.emit({ type: "agent_start" });
        const answer = await call.ask("select", { title: "Which?", options: ["a", "b"] });
        await call.emit(update(answer?.value ?? "nothing") as never);
        await call.emit({ type: "agent_end", messages: [] });
      })(),
    );
  }

  override setSessionName({ name }: piClient.SetSessionNameParams): void {
    if (name.trim() === "") throw new CommandError("Session name cannot be empty");
    this.name = name;
  }

  override async compact(): Promise<piClient.CompactionResult> {
    await new Promise<void>((resolve) => (this.release = resolve));
    return { summary: "s", firstKeptEntryId: "e", tokensBefore: 1 };
  }

  override exportHtml(): piClient.WrittenFile {
    return { path: "/x" };
  }

  override getMessages(): piClient.Messages {
    throw new TypeError("a mistake");
  }

  override async waitUntilIdle(): Promise<void> {
    await Promise.all(this.work);
  }
}

test("a line that cannot be read fails the question that it names itself, and not one that it quotes", async () => {
  const client = raw(new PiAgent(), { maxLine: 2000 });
  const long = "x".repeat(3000);
  const asked = async (): Promise<string> => {
    await client.ask('{"id":"1","type":"prompt","message":"x"}');
    assert.match(await client.line(), /agent_start/);
    return (JSON.parse(await client.line()) as { id: string }).id;
  };
  const isFailed = async (line: string): Promise<void> => {
    const lines = [await client.ask(line), await client.line(), await client.line()];
    assert.ok(lines.some((line) => line.includes('"nothing"')) && lines.some((line) => line.includes('"parse"')), lines.join("\n"));
  };
  for (const value of [`"${long}"`, '"x', "[".repeat(200)]) {
    await isFailed(`{"type":"extension_ui_response","id":"${await asked()}","value":${value}}`);
  }
  const id = await asked();
  for (const quoting of [
    `{"id":"2","type":"prompt","message":"about \\"${id}\\" {"id":"${id}"}`,
    `{"type":"extension_ui_response","value":["${id}`,
    `{"type":"extension_ui_response","value":{"id":"${id}"},`,
    `DEBUG {"type":"extension_ui_response","id":"${id}","value":`,
    `{"id":"3","type":"prompt","message":"${long}"}`,
    `{"type":"extension_ui_response","id":"another","value":"${long}"}`,
    long,
  ]) {
    assert.match(await client.ask(quoting), /"command":"parse"/, quoting.slice(0, 80));
  }
  // A line that is too long is skipped. If its id is unreadable, the oldest question fails.
  await isFailed(`{"type":"extension_ui_response","value":"${long}","id":"${id}"}`);
  await client.end();
});

test("a client of ours drives an agent of ours", async () => {
  const [ours, theirs] = memoryPair();
  const agent = new PiAgent();
  const served = serve(agent, theirs);
  const client = new piClient.Client(ours, { dialogs: { select: (dialog) => dialog.options[1] } });
  assert.equal((await soon(client.getState())).sessionId, "s");
  const run = await soon(client.prompt({ message: "hello" }));
  const seen: string[] = [];
  for await (const event of run) {
    const kind = event.type === "message_update" ? event.assistantMessageEvent : undefined;
    seen.push(kind?.type === "text_delta" ? kind.delta : event.type);
  }
  assert.deepEqual(seen, ["agent_start", "b", "agent_end"]);
  assert.equal((await soon(run.result())).endedBy, "event");
  await soon(client.setSessionName({ name: "mine" }));
  assert.equal(agent.name, "mine");
  const refused = await failure(client.setSessionName({ name: " " }));
  assert.ok(refused instanceof RefusedError && refused.message === "Session name cannot be empty");
  assert.match(String(await failure(client.bash({ command: "ls" }))), /not available/);
  assert.match(String(await failure(client.getMessages())), /a mistake/);
  await soon(client.close());
  assert.equal(await soon(served), "end_of_input");
});

test("bad input is answered, and reading goes on", async () => {
  const client = raw(new PiAgent(), { maxLine: 1000 });
  for (const [line, wanted] of [
    ["not json", /^\{"type":"response","command":"parse","success":false,"error":"Failed to parse command: /],
    ["[1]", /"command":"parse".*expected an object, found an array/],
    ["", /"command":"parse"/],
    ['{"id":1}', /^\{"id":1,"type":"response","command":"parse".*`type` is missing/],
    ['{"type":5}', /`type` is 5, expected a string/],
    ['{"id":"a","type":"teleport"}', /^\{"id":"a","type":"response","command":"teleport","success":false,"error":"Unknown command: teleport"\}$/],
    ['{"id":"b","type":"prompt"}', /^\{"id":"b",.*"error":"Invalid parameters of `prompt`: `message`: required, but missing"\}$/],
    ['{"type":"prompt","message":"x","images":[{"type":"image"}]}', /`images\[0\]\.data`: required, but missing/],
    ['{"type":"set_thinking_level","level":"extreme"}', /expected one of off, minimal, .*found `extreme`/],
    ['{"type":"constructor"}', /Unknown command: constructor/],
    [`{"x":"${"y".repeat(2000)}"}`, /longer than 1000 bytes/],
    ['{"id":12345678901234567890.0,"type":"get_commands"}', /^\{"id":12345678901234567890\.0,"type":"response"/],
  ] as const) {
    assert.match(await client.ask(line), wanted);
  }
  assert.match(await client.ask('{"type":"get_state"}'), /^\{"type":"response","command":"get_state","success":true,"data":\{"model":null/);
  await client.end();
  await soon(client.served);
});

test("events of a command wait for its answer", async () => {
  let begin: () => void = () => undefined;
  class Agent extends pi.Service {
    override prompt({ message }: piClient.PromptParams, call: Call<piClient.Types, "prompt">): void | Promise<void> {
      void call.emit({ type: "agent_start" }).then(() => call.emit({ type: "agent_end", messages: [] }));
      if (message === "slow") return new Promise((resolve) => (begin = resolve));
      if (message === "no") throw new CommandError("no");
    }
    override async steer(_: piClient.SteerParams, call: Call<piClient.Types, "steer">): Promise<void> {
      await call.emit({ type: "turn_start" });
      call.answer();
      await call.emit({ type: "turn_start" });
      throw new CommandError("nobody hears this");
    }
  }
  const client = raw(new Agent());
  assert.match(await client.ask('{"id":"1","type":"prompt","message":"x"}'), /^\{"id":"1".*"success":true\}$/);
  assert.deepEqual([await client.line(), await client.line()], ['{"type":"agent_start"}', '{"type":"agent_end","messages":[]}']);
  await client.send('{"id":"2","type":"prompt","message":"slow"}');
  await settle();
  assert.match(await client.ask('{"id":"3","type":"teleport"}'), /^\{"id":"3"/);
  begin();
  assert.match(await client.line(), /^\{"id":"2".*"success":true\}$/);
  assert.equal(await client.line(), '{"type":"agent_start"}');
  await client.line();
  // The response to a rejected command precedes its events as well.
  assert.match(await client.ask('{"id":"4","type":"prompt","message":"no"}'), /"error":"no"/);
  assert.deepEqual([await client.line(), await client.line()], ['{"type":"agent_start"}', '{"type":"agent_end","messages":[]}']);
  // If a command is answered at its end, the response follows its events. A handler can send it earlier, but
  // only once.
  assert.equal(await client.ask('{"id":"5","type":"steer","message":"x"}'), '{"type":"turn_start"}');
  assert.match(await client.line(), /^\{"id":"5".*"success":true\}$/);
  assert.equal(await client.line(), '{"type":"turn_start"}');
  assert.match(await client.ask('{"id":"6","type":"teleport"}'), /^\{"id":"6"/);
});

test("omp drops ids as documented", async () => {
  class Agent extends omp.Service {
    override prompt(): void {
      throw new CommandError("too late");
    }
    override compact(): never {
      throw new CommandError("Already compacted");
    }
  }
  const client = raw(new Agent());
  assert.equal(await client.ask('{"id":"a","type":"teleport"}'), '{"type":"response","command":"teleport","success":false,"error":"Unknown command: teleport"}');
  assert.equal(
    await client.ask('{"id":"b","type":"compact"}'),
    '{"type":"response","command":"parse","success":false,"error":"Failed to parse command: Already compacted"}',
  );
  assert.equal(await client.ask('{"id":"c","type":"prompt","message":"x"}'), '{"id":"c","type":"response","command":"prompt","success":true}');
  assert.equal(await client.line(), '{"id":"c","type":"response","command":"prompt","success":false,"error":"too late"}');
  assert.match(await client.ask('{"id":"d","type":"set_interrupt_mode","mode":"never"}'), /^\{"id":"d","type":"response","command":"set_interrupt_mode"/);
  await client.send("");
  assert.match(await client.ask('{"type":"x"}'), /"command":"x"/);
  assert.ok(new pisces.Service().serving.spec.name === "pisces");
});

test("operator and opal have envelopes of their own", async () => {
  class Operator extends operator.Service {
    override async prompt(_: operatorClient.OperatorPromptParams, call: Call<operatorClient.Types>): Promise<void> {
      await call.emit({ type: "agent_start" });
    }
  }
  const one = raw(new Operator());
  assert.equal(await one.ask('{"id":"a","type":"prompt","text":"x"}'), '{"type":"event","event":{"type":"agent_start"}}');
  assert.equal(await one.line(), '{"type":"response","command":"prompt","id":"a","success":true,"data":{}}');

  class Opal extends opal.Service {
    override async agentPrompt({ session_id }: opalClient.AgentPromptParams, call: Call<opalClient.Types>): Promise<opalClient.QueuedPrompt> {
      const answer = await call.ask("client/ask_user", { session_id, question: "?" });
      await call.emit({ type: "status_update", session_id, message: answer?.answer ?? "" });
      return { queued: false };
    }
  }
  const two = raw(new Opal());
  const question = JSON.parse(await two.ask('{"jsonrpc":"2.0","id":1,"method":"agent/prompt","params":{"session_id":"s","text":"x"}}')) as { id: string };
  await two.send(JSON.stringify({ jsonrpc: "2.0", id: question.id, result: { answer: "blue" } }));
  assert.equal(await two.line(), '{"jsonrpc":"2.0","id":1,"result":{"queued":false}}');
  assert.equal(await two.line(), '{"jsonrpc":"2.0","method":"agent/event","params":{"type":"status_update","session_id":"s","message":"blue"}}');
  for (const [line, code] of [
    ["nonsense", -32700],
    ["[]", -32600],
    ['{"jsonrpc":"2.0","id":2}', -32600],
    ['{"id":2,"method":"opal/ping"}', -32600],
    ['{"jsonrpc":"2.0","id":2,"method":"no/such"}', -32601],
    // Parameters of a method without parameters are not checked, and null means an absent member. The only
    // error is that these methods are not implemented.
    ['{"jsonrpc":"2.0","id":2,"method":"opal/ping","params":"x"}', -32603],
    ['{"jsonrpc":"2.0","id":2,"method":"session/start","params":{"model":null,"tools":null}}', -32603],
    ['{"jsonrpc":"2.0","id":2,"method":"session/start","params":{"tools":"x"}}', -32602],
    ['{"jsonrpc":"2.0","id":2,"method":"agent/state","params":{}}', -32602],
    ['{"jsonrpc":"2.0","id":2,"method":"agent/state","params":[]}', -32602],
    ['{"jsonrpc":"2.0","id":2,"method":"opal/ping"}', -32603],
  ] as const) {
    const answer = JSON.parse(await two.ask(line)) as { error: { code: number }; id: unknown };
    assert.equal(answer.error.code, code, line);
    assert.equal(answer.id, code === -32700 || code === -32600 ? null : 2);
  }
});

test("the session lane takes one at a time; others pass it by", async () => {
  const agent = new PiAgent();
  const client = raw(agent);
  await client.send('{"id":"1","type":"compact"}', '{"id":"2","type":"export_html"}', '{"id":"3","type":"get_state"}');
  assert.match(await client.line(), /^\{"id":"3"/);
  agent.release();
  assert.match(await client.line(), /^\{"id":"1".*"summary"/);
  assert.match(await client.line(), /^\{"id":"2".*"\/x"/);
  assert.match(await client.ask('{"id":"4","type":"export_html"}'), /^\{"id":"4"/);
});

test("questions end with the input, and what runs finishes where the dialect lets it", async () => {
  const client = raw(new PiAgent());
  assert.match(await client.ask('{"id":"1","type":"prompt","message":"x"}'), /"agent_start"|"success":true/);
  await client.line();
  assert.match(await client.line(), /"method":"select"/);
  await client.end();
  assert.match(await client.line(), /"delta":"nothing"/);
  assert.match(await client.line(), /agent_end/);
  assert.equal(await soon(client.served), "end_of_input");
});

test("a late or forged answer is ignored; a question can time out", async () => {
  class Agent extends pi.Service {
    override async steer(_: piClient.SteerParams, call: Call<piClient.Types>): Promise<void> {
      const answer = await call.ask("input", { title: "?" }, { timeout: 5 });
      assert.equal(answer, undefined);
      await call.ask("notify", { message: "done" });
    }
  }
  const client = raw(new Agent());
  const question = JSON.parse(await client.ask('{"id":"1","type":"steer","message":"x"}')) as { id: string };
  assert.match(await client.line(), /"method":"notify"/);
  assert.match(await client.line(), /"success":true/);
  await client.send(`{"type":"extension_ui_response","id":"${question.id}","value":"late"}`, '{"type":"extension_ui_response","id":"forged","value":"x"}');
  assert.match(await client.ask('{"id":"2","type":"teleport"}'), /Unknown/);
});

test("a client that does not read makes events wait, and its end stops the agent", async () => {
  let sent = 0;
  let stopped = false;
  class Agent extends pi.Service {
    override async prompt(_: piClient.PromptParams, call: Call<piClient.Types>): Promise<void> {
      for (; sent < 1000 && !stopped; sent++) await call.emit(update("x".repeat(10_000)) as never);
    }
    override shutDown(): void {
      stopped = true;
    }
  }
  const client = raw(new Agent(), { outboxBytes: 100_000 });
  await client.send('{"id":"1","type":"prompt","message":"x"}');
  await settle();
  assert.ok(sent > 0 && sent < 100, String(sent));
  await client.cut();
  assert.equal(await soon(client.served), "broken_output");
  assert.ok(stopped);
});

test("a signal stops serving", async () => {
  const stop = new AbortController();
  let emitter: { emit(event: piClient.AgentStart): Promise<void> } | undefined;
  const client = raw(new PiAgent(), { signal: stop.signal, started: (given: typeof emitter) => (emitter = given) });
  await emitter?.emit({ type: "agent_start" });
  assert.equal(await client.line(), '{"type":"agent_start"}');
  stop.abort();
  assert.equal(await soon(client.served), "stopped");
});

test("every command of every dialect has a method, in the client and in the service", async () => {
  const { readText } = await import("./support/files.js");
  const model = JSON.parse(readText("protocol", "model.json")) as {
    dialects: { name: string; commands: { name: string; wire: string }[]; events: { name: string }[]; dialogs: { wire: string }[] }[];
  };
  const clients: Record<string, { Client: { prototype: object }; spec: { commands: object; events: object; dialogs: object } }> = await import("../src/generated/index.js");
  const services: Record<string, { Service: { prototype: object }; serving: { commands: object } }> = await import("../src/generated/serve/index.js");
  // The model lists rows by revision. A client and a service have the rows of all revisions.
  const rowsOf = <Row extends object>(name: string, list: (dialect: (typeof model.dialects)[number]) => Row[], key: keyof Row): Row[] =>
    [...new Map(model.dialects.filter((dialect) => dialect.name === name).flatMap(list).map((row) => [row[key], row])).values()];
  const known = [...new Set(model.dialects.map(({ name }) => name))];
  assert.equal(known.length, 5);
  for (const name of known) {
    const dialect = {
      name,
      commands: rowsOf(name, ({ commands }) => commands, "wire"),
      events: rowsOf(name, ({ events }) => events, "name"),
      dialogs: rowsOf(name, ({ dialogs }) => dialogs, "wire"),
    };
    const client = clients[dialect.name];
    const service = services[dialect.name];
    assert.ok(client !== undefined && service !== undefined);
    const names = dialect.commands.map(({ name }) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()));
    const own = (prototype: object): string[] => Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor").sort();
    assert.deepEqual(own(client.Client.prototype), [...names].sort());
    assert.deepEqual(own(service.Service.prototype), [...names].sort());
    const wires = dialect.commands.map(({ wire }) => wire).sort();
    assert.deepEqual(Object.keys(client.spec.commands).sort(), wires);
    assert.deepEqual(Object.keys(service.serving.commands).sort(), wires);
    assert.deepEqual(Object.keys(client.spec.events).sort(), dialect.events.map(({ name }) => name).sort());
    assert.deepEqual(Object.keys(client.spec.dialogs).sort(), dialect.dialogs.map(({ wire }) => wire).sort());
  }
});

test("an agent over stdio", async () => {
  const module = (name: string): string => JSON.stringify(new URL(`../src/${name}.js`, import.meta.url).href);
  const code = `
    import { omp, serve } from ${module("serve")};
    import { stdio } from ${module("stdio")};
    class Agent extends omp.Service {
      getLastAssistantText() { return { text: "hello" }; }
    }
    await serve(new Agent(), stdio());
  `;
  const client = await spawn(ompClient.Client, [process.execPath, "--input-type=module", "-e", code]);
  assert.deepEqual(await soon(client.getLastAssistantText()), { text: "hello" });
  const end = await soon(client.close());
  assert.deepEqual([end.exit?.code, end.exit?.signal], [0, null]);
});

