/**
 * Reads a number of events from a child that writes a file of frames, and the delta of every update. Prints
 * the sums and the times. `tools/bench/clients` compares them with clients in other languages.
 *
 * Usage: `node build/bench/reading.js CLIENT FILE COUNT [MODULE]`; `MODULE` is the file of pi's own client.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

import { pi } from "../src/index.js";
import { spawn as spawnAgent } from "../src/stdio.js";

/**
 * The child keeps its stdout open after the last frame, so that the time for the end of the process is not
 * measured.
 */
const CHILD = ["sh", "-c", 'read go; cat "$0"; read end'] as const;

interface Event {
  type: string;
  assistantMessageEvent?: { type: string; delta?: string };
}

/** Counter of events up to a limit, and of the characters of their deltas. */
class Counter {
  seen = 0;
  characters = 0;
  readonly done: Promise<void>;
  #finish: () => void = () => undefined;

  constructor(readonly count: number) {
    this.done = new Promise((resolve) => (this.#finish = resolve));
  }

  take(event: Event): void {
    if (this.seen === this.count) return;
    if (event.type === "message_update") this.characters += event.assistantMessageEvent?.delta?.length ?? 0;
    if (++this.seen === this.count) this.#finish();
  }
}

async function client(path: string, counter: Counter): Promise<void> {
  const client = await spawnAgent(pi.Client, [...CHILD, path]);
  const events = client.events();
  await client.sendRaw("go");
  for await (const event of events) {
    counter.take(event as Event);
    if (counter.seen === counter.count) break;
  }
  await client.close();
}

/** Reads the events like most Node programs: lines and `JSON.parse`. */
async function parsed(path: string, counter: Counter): Promise<void> {
  const child = spawn(CHILD[0], [...CHILD.slice(1), path], { stdio: ["pipe", "pipe", "inherit"] });
  createInterface({ input: child.stdout }).on("line", (line) => counter.take(JSON.parse(line) as Event));
  child.stdin.write("go\n");
  await counter.done;
  child.stdin.end();
  await once(child, "exit");
}

/** Reads the events with pi's own client. The agent that it starts is this program. */
async function ofPi(path: string, counter: Counter, module: string): Promise<void> {
  interface RpcClient {
    start(): Promise<void>;
    stop(): Promise<void>;
    onEvent(listener: (event: Event) => void): void;
    process: ChildProcess;
  }
  const { RpcClient } = (await import(pathToFileURL(module).href)) as { RpcClient: new (options: object) => RpcClient };
  const client = new RpcClient({ cliPath: fileURLToPath(import.meta.url), args: [path] });
  client.onEvent((event) => counter.take(event));
  await client.start();
  client.process.stdin?.write("go\n");
  await counter.done;
  await client.stop();
}

const [name = "", path = "", count = "", module = ""] = process.argv.slice(2);
if (name === "--mode") {
  // pi's client starts its agent with these arguments: `--mode rpc FILE`.
  process.exitCode = (await once(spawn(CHILD[0], [...CHILD.slice(1), count], { stdio: "inherit" }), "exit"))[0] as number;
} else {
  const counter = new Counter(Number(count));
  const begin = performance.now();
  const before = process.cpuUsage();
  if (name === "agentese") await client(path, counter);
  else if (name === "JSON.parse") await parsed(path, counter);
  else if (name === "RpcClient") await ofPi(path, counter, module);
  else throw new Error(`unknown client ${name}`);
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify([counter.seen, counter.characters, (performance.now() - begin) / 1000, (user + system) / 1e6]));
}
