/** The agent's end of the protocol, for tests. It starts the bundle that the binary embeds. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

import type { ExtensionFrame, FrameOf, HookEvent, HostFrame, InitializeResult } from "../../src/protocol.js";

/** Time limit of every wait of a test, in milliseconds. */
export const PATIENCE = 60_000;

/** Root of the repository. Compiled tests run in `build/test`. */
export const repository = join(import.meta.dirname, "../../../..");

/** The program under test. */
export const bundle = join(repository, "server/extensions/src/extensions/node_host/agentese-pi-host.mjs");

type Response = FrameOf<"response">;

/** A frame of the extension process, or a line that is not a frame. */
type Line = ExtensionFrame | { type: "noise"; line: string };

/** An agent with one extension process. */
export class TestAgent {
  /** Output of the process on stderr. */
  stderr = "";
  /** Resolves with the exit code of the process. */
  readonly exit: Promise<number | null>;
  readonly folder: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: Line[] = [];
  #wake: () => void = () => {};
  #rest = "";
  #nextId = 1;

  /** Starts the host in a folder of its own. The host ends with the test. */
  constructor(test: TestContext, files: Record<string, string> = {}, transport: "pipes" | "sockets" = "sockets") {
    this.folder = mkdtempSync(join(tmpdir(), "agentese-pi-host-"));
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true });
      writeFileSync(join(this.folder, name), text);
    }
    // Node connects its children by sockets. The agent uses pipes, so `cat` provides them.
    const piped = ["sh", "-c", 'cat | "$0" "$1" 2>stderr | cat', process.execPath, bundle];
    const [program = "", ...args] = transport === "pipes" ? piped : [process.execPath, bundle];
    this.#child = spawn(program, args, { cwd: this.folder });
    this.#child.stdin.on("error", () => {});
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => this.#receive(text));
    this.exit = new Promise((resolve) => this.#child.on("close", resolve));
    void this.exit.then(() => this.#wake());
    test.after(async () => {
      this.#child.stdin.destroy();
      if (transport === "sockets") this.#child.kill("SIGKILL");
      await this.exit;
      rmSync(this.folder, { recursive: true });
    });
  }

  /** Returns the path of a file in the test's folder. */
  path(name: string): string {
    return join(this.folder, name);
  }

  /** Sends a frame to the extension process. */
  send(frame: HostFrame): void {
    this.#child.stdin.write(`${JSON.stringify(frame)}\n`);
  }

  /** Closes the stdin of the extension process. */
  end(): void {
    this.#child.stdin.end();
  }

  /** Sends the introduction and returns the registrations of these extensions. */
  async initialize(...names: string[]): Promise<InitializeResult> {
    const { result, error } = await this.request({
      type: "initialize",
      protocol: 1,
      agentVersion: "0.1.0",
      mode: "rpc",
      hasUI: true,
      cwd: this.folder,
      agentDir: this.path("agent"),
      extensions: names.map((name) => this.path(name)),
    } as Omit<HostFrame & { type: "initialize" }, "id">);
    if (error !== undefined) throw new Error(error);
    return result as unknown as InitializeResult;
  }

  /** Sends a request, and returns its id. */
  sendRequest(frame: object): string {
    const id = String(this.#nextId++);
    this.send({ ...frame, id } as HostFrame);
    return id;
  }

  /** Sends a request and returns its response, which must be the next frame. */
  async request(frame: object): Promise<Response> {
    return this.response(this.sendRequest(frame));
  }

  /** Sends an event and returns the response with the answer of the handlers. */
  async event(name: string, event: HookEvent): Promise<Response> {
    return this.request({ type: "event", extension: this.path(name), event });
  }

  /** Sends an event that needs no answer. */
  sendEvent(name: string, event: HookEvent): void {
    this.send({ type: "event", extension: this.path(name), event });
  }

  /** Starts a command, and returns the id of the request. */
  command(extension: string, name: string, args = ""): string {
    return this.sendRequest({ type: "command", extension: this.path(extension), name, args });
  }

  /** Returns the response with that id, which must be the next frame. */
  async response(id: string): Promise<Response> {
    const frame = await this.next("response");
    if (frame.id !== id) throw new Error(`a response to ${frame.id}, not to ${id}`);
    return frame;
  }

  /** Returns the next frame, which must have that type. */
  async next<K extends ExtensionFrame["type"]>(type: K): Promise<FrameOf<K>> {
    const line = await this.line();
    if (line.type !== type) throw new Error(`${JSON.stringify(line)} came, and not a frame ${type}`);
    return line as FrameOf<K>;
  }

  /** Returns the next line. Fails if no line arrives within the time limit. */
  async line(): Promise<Line> {
    const late = AbortSignal.timeout(PATIENCE);
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) return line;
      if (late.aborted) throw new Error(`no frame came within ${PATIENCE} ms; stderr: ${this.stderr}`);
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`the process has ended; stderr: ${this.stderr}`);
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        late.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  }

  #receive(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      try {
        this.#lines.push(JSON.parse(line) as ExtensionFrame);
      } catch {
        this.#lines.push({ type: "noise", line });
      }
    }
    this.#wake();
  }
}

/** Returns the source of an extension whose factory has the given body. */
export function extension(body: string, head = ""): string {
  return `${head}\nexport default function (pi: any) {\n${body}\n}\n`;
}
