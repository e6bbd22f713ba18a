import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { pi } from "../src/index.js";
import { type Socket, connectWebSocket } from "../src/websocket.js";
import { PATIENCE, failure, soon } from "./support/agent.js";
import { PACKAGE, REPOSITORY } from "./support/files.js";

/** Server in memory with one agent of pi. It stores the frames that it has sent. */
class Server {
  /** Addresses that the client has connected to; `sockets` holds the sockets in the same order. */
  readonly calls: URL[] = [];
  readonly sockets: FakeSocket[] = [];
  readonly heard: string[] = [];
  /** `true` if a lost connection can be resumed, as with `agentese web`. */
  resumes = true;
  /** `true` if the server no longer has the frames that a resumed connection missed. */
  hasForgotten = false;
  /** First message, if it replaces the greeting. */
  greeting: string | undefined;
  refuses = false;
  /** `true` if the network drops the frames of the server. */
  isMute = false;
  /**
   * Number of bytes that every socket reports as buffered; `looks` counts the reads of that number.
   */
  full = 0;
  looks = 0;
  readonly #said: string[] = [];
  readonly #seen = new Set<string>();

  get WebSocket(): new (address: string) => Socket {
    const server = this;
    return class extends FakeSocket {
      constructor(address: string) {
        super(server, address);
      }
    };
  }

  join(socket: FakeSocket): void {
    const have = this.calls.at(-1)?.searchParams.get("have");
    if (!this.resumes) return;
    const lost = have !== null && have !== undefined && this.hasForgotten;
    const back = have !== null && have !== undefined && !lost;
    socket.deliver(this.greeting ?? JSON.stringify({ agentese: "hello", back, lost, begun: [], questions: [] }));
    if (back) for (const text of this.#said.slice(Number(have))) socket.deliver(text);
  }

  hear(text: string): void {
    this.heard.push(text);
    const { id, type } = JSON.parse(text) as { id: string; type: string };
    if (this.#seen.has(id)) return;
    this.#seen.add(id);
    if (type !== "prompt" && type !== "extension_ui_response") this.say({ id, type: "response", command: type, success: true });
  }

  say(frame: object): void {
    this.#said.push(JSON.stringify(frame));
    if (!this.isMute) this.sockets.at(-1)?.deliver(JSON.stringify(frame));
  }

  /** Returns the received commands of that type. */
  commands(type: string): { id: string }[] {
    return this.heard.map((text) => JSON.parse(text) as { id: string; type: string }).filter((frame) => frame.type === type);
  }
}

class FakeSocket implements Socket {
  readyState = 0;
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  readonly #server: Server;
  #isClosed: () => void = () => undefined;

  constructor(server: Server, address: string) {
    this.#server = server;
    this.closed = new Promise((resolve) => (this.#isClosed = resolve));
    server.calls.push(new URL(address));
    server.sockets.push(this);
    setImmediate(() => {
      if (server.refuses) return this.drop();
      this.readyState = 1;
      this.onopen?.(undefined as never);
      server.join(this);
    });
  }

  get bufferedAmount(): number {
    this.#server.looks += 1;
    return this.#server.full;
  }

  deliver(data: string): void {
    if (this.readyState === 1) this.onmessage?.({ data } as never);
  }

  send(text: string): void {
    this.#server.hear(text);
  }

  close(): void {
    setImmediate(() => this.drop());
  }

  drop(): void {
    this.readyState = 3;
    this.#isClosed();
    this.onclose?.(undefined as never);
  }
}

/** Waits until the condition is true. */
const until = (holds: () => boolean): Promise<void> =>
  soon(
    (async () => {
      while (!holds()) await new Promise((resolve) => setImmediate(resolve));
    })(),
  );

const connect = async (server: Server, reconnectTimeout = PATIENCE): Promise<pi.Client> =>
  new pi.Client(await connectWebSocket("ws://127.0.0.1:1/token/ws", { WebSocket: server.WebSocket, reconnectTimeout }));

describe("an agent behind a WebSocket", () => {
  test("gets a message for each command, and answers with one", async () => {
    const server = new Server();
    const client = await connect(server);
    await soon(client.setAutoRetry({ enabled: true }));
    assert.equal(server.commands("set_auto_retry").length, 1);
    await client.close();
    await soon(server.sockets[0]!.closed);
  });

  test("a lost connection is resumed and no command runs twice", async () => {
    const server = new Server();
    const client = await connect(server);
    await soon(client.abort());
    // The answer to this call is lost with the connection.
    server.isMute = true;
    const call = client.setAutoRetry({ enabled: false });
    await until(() => server.commands("set_auto_retry").length > 0);
    server.sockets[0]!.drop();
    server.isMute = false;
    await soon(call);
    const { searchParams } = server.calls.at(-1)!;
    assert.ok(Number(searchParams.get("have")) >= 1);
    assert.equal(searchParams.get("tab"), server.calls[0]?.searchParams.get("tab"));
    const ids = server.commands("set_auto_retry").map(({ id }) => id);
    assert.deepEqual(ids, [ids[0], ids[0]]);
    await client.close();
  });

  test("an answer to a question that was lost with the connection is sent again, until a later command is answered", async () => {
    const server = new Server();
    const transport = await connectWebSocket("ws://127.0.0.1:1/token/ws", { WebSocket: server.WebSocket, reconnectTimeout: PATIENCE });
    const frames = transport.readable.getReader();
    const writer = transport.writable.getWriter();
    const write = (frame: object) => soon(writer.write(new TextEncoder().encode(`${JSON.stringify(frame)}\n`)));
    const again = async () => {
      const sockets = server.sockets.length;
      server.sockets.at(-1)!.drop();
      await until(() => server.sockets.length > sockets && server.sockets.at(-1)!.readyState === 1);
    };
    const answers = () => server.commands("extension_ui_response").map(({ id }) => id);
    await until(() => server.sockets[0]?.readyState === 1);
    server.say({ type: "extension_ui_request", id: "q1", method: "confirm", title: "?", message: "?" });
    await soon(frames.read());
    await write({ type: "extension_ui_response", id: "q1", confirmed: true });
    await again();
    assert.deepEqual(answers(), ["q1", "q1"]);
    await write({ type: "abort", id: "c1" });
    await soon(frames.read());
    await again();
    assert.deepEqual(answers(), ["q1", "q1"]);
    await soon(writer.close());
  });

  test("a question of JSON-RPC settles no command with the same id", async () => {
    const server = new Server();
    const transport = await connectWebSocket("ws://127.0.0.1:1/token/ws", { WebSocket: server.WebSocket, reconnectTimeout: PATIENCE });
    const frames = transport.readable.getReader();
    const writer = transport.writable.getWriter();
    const write = (frame: object) => soon(writer.write(new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", id: 1, ...frame })}\n`)));
    await until(() => server.sockets[0]?.readyState === 1);
    server.isMute = true;
    await write({ method: "a", params: {} });
    server.isMute = false;
    server.say({ jsonrpc: "2.0", id: 1, method: "ask", params: {} });
    await soon(frames.read());
    await write({ result: {} });
    const heard = server.heard.length;
    server.sockets[0]!.drop();
    await until(() => server.heard.length === heard + 2);
    assert.deepEqual(server.heard.slice(heard), server.heard.slice(0, heard), "both are sent again");
    await soon(writer.close());
  });

  test("a socket that opens after the client was closed is closed", async () => {
    const server = new Server();
    const client = await connect(server);
    await soon(client.abort());
    server.sockets[0]!.drop();
    await until(() => server.sockets.length === 2);
    assert.equal(server.sockets[1]!.readyState, 0);
    await client.close();
    await soon(server.sockets[1]!.closed);
  });

  test("fails with `reload` when missed frames are lost", async () => {
    const server = new Server();
    const client = await connect(server);
    await soon(client.abort());
    server.hasForgotten = true;
    const call = client.prompt({ message: "never answered" });
    server.sockets[0]!.drop();
    assert.match(((await failure(soon(call))) as Error).message, /reload/);
  });

  test("fails with `reload` when the server does not confirm the resumption", async () => {
    const greetings = ['{"agentese":"hello"}', '{"agentese":"hello",', '{"agentese":"sent","back":true}', '{"type":"agent_start"}'];
    for (const greeting of greetings) {
      const server = new Server();
      const client = await connect(server);
      await soon(client.abort());
      server.greeting = greeting;
      const call = client.prompt({ message: "never answered" });
      server.sockets[0]!.drop();
      assert.match(((await failure(soon(call))) as Error).message, /reload/, greeting);
    }
  });

  test("fails after the reconnect timeout", async () => {
    const server = new Server();
    const client = await connect(server, 300);
    await soon(client.abort());
    server.refuses = true;
    const call = client.prompt({ message: "never answered" });
    server.sockets[0]!.drop();
    assert.match(((await failure(soon(call))) as Error).message, /the connection was lost/);
  });

  test("a server that cannot be joined again ends the client when it closes the connection", async () => {
    const server = new Server();
    server.resumes = false;
    const client = await connect(server);
    await soon(client.abort());
    const call = client.prompt({ message: "never answered" });
    server.sockets[0]!.drop();
    await failure(soon(call));
    assert.equal(server.calls.length, 1);
  });

  test("writes wait while the socket is full", async () => {
    const server = new Server();
    server.full = 2 * 1024 * 1024;
    const client = await connect(server);
    const call = client.abort();
    // The client has not written between the first check and this second one.
    await until(() => server.looks >= 2);
    assert.equal(server.commands("abort").length, 0);
    server.full = 0;
    await soon(call);
    await client.close();
  });

  test("a missing WebSocket implementation and an unreachable server are reported", async () => {
    const platform = globalThis as { WebSocket?: unknown };
    const { WebSocket } = platform;
    delete platform.WebSocket;
    try {
      assert.match(((await failure(connectWebSocket("ws://127.0.0.1:1/"))) as Error).message, /no WebSocket/);
    } finally {
      if (WebSocket !== undefined) platform.WebSocket = WebSocket;
    }
    const server = new Server();
    server.refuses = true;
    assert.match(((await failure(connect(server))) as Error).message, /cannot connect/);
  });
});

test("a connection to `agentese web` lost in the middle of a response loses no frames", async () => {
  const agentese = join(process.env["CARGO_TARGET_DIR"] ?? join(REPOSITORY, "target"), "debug", "agentese");
  assert.ok(existsSync(agentese), `${agentese} is missing: cargo build -p agentese-cli`);
  const env = { ...process.env };
  // The started program is not part of this test run.
  delete env["NODE_TEST_CONTEXT"];
  const program = join(PACKAGE, "build", "test", "support", "web_session.js");
  // Before version 22, Node has a WebSocket only with a flag.
  const flags = "WebSocket" in globalThis ? [] : ["--experimental-websocket", "--no-warnings"];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, agentese], { env, timeout: PATIENCE });
  const told = JSON.parse(stdout) as { sockets: number; events: number; run: string; told: number; shown: [string, string][] };
  assert.equal(told.sockets, 2);
  assert.ok(told.events > 10);
  assert.equal(told.run, "idle");
  assert.equal(told.shown.length, told.told);
  assert.ok(told.shown.every(([, state]) => state === "done"), stdout);
});
