/**
 * The driver of this library for `agentese-conformance run --client`: instructions on stdin and reports on stdout, one
 * line of JSON each, as described in docs/conformance-clients.md.
 */

import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { createInterface } from "node:readline";

import { AgentError, RefusedError, type RunFailedError, type RpcClient, StalledError, Termination, TimedOutError } from "agentese";
import { omp, opal, operator, pi, pisces } from "agentese";
import { spawn } from "agentese/stdio";

type Json = Record<string, unknown>;
type Types = Parameters<typeof spawn>[0] extends new (...args: never) => RpcClient<infer T> ? T : never;
type Client = RpcClient<Types>;
interface Instruction {
  instruction: "start" | "call" | "answer" | "close";
  dialect: string;
  command: string;
  call: string;
  params: Json;
  dialog: string;
  answer?: Json | null;
}
interface Run {
  readonly answer: unknown;
  wait(): Promise<{ endedBy: string; failure?: RunFailedError | undefined }>;
}

const dialects: Record<string, { Client: unknown; spec: unknown }> = { pi, omp, pisces, operator, opal };

function report(kind: string, members: Json = {}): void {
  process.stdout.write(`${JSON.stringify({ report: kind, ...members })}\n`);
}

function failure(error: unknown): { kind: string; message: string; code?: number | undefined } {
  if (error instanceof RefusedError) return { kind: "refused", message: error.message, code: error.code };
  if (!(error instanceof AgentError)) throw error;
  const { message } = error;
  if (error instanceof Termination) return { kind: "terminated", message };
  return { kind: error instanceof TimedOutError || error instanceof StalledError ? "timed_out" : "failed", message };
}

/** Callbacks of the open dialogs. Each waits for the answer that the suite sends. */
const waiting: ((answer: unknown) => void)[] = [];

function handlers(spec: Client["spec"]): Json {
  const asks = (method: string) => (params: unknown): Promise<unknown> =>
    new Promise((resolve) => {
      report("dialog", { dialog: String(waiting.push(resolve)), method, params });
    });
  return Object.fromEntries(Object.entries(spec.dialogs).map(([method, { name }]) => [name, asks(method)]));
}

/** Reports that the driver has not sent yet. */
const tasks: Promise<void>[] = [];

async function start({ dialect, command }: { dialect: string; command: string[] }): Promise<Client> {
  const { Client: make, spec } = dialects[dialect.split("@")[0] ?? ""] as { Client: Parameters<typeof spawn>[0]; spec: Client["spec"] };
  const client: Client = await spawn(make, command, { dialogs: handlers(spec), revision: dialect } as object);
  tasks.push(listen(client));
  const { version } = JSON.parse(readFileSync(new URL(import.meta.resolve("agentese/package.json")), "utf8")) as Json;
  const { barrier } = client.spec.runEnd;
  report("ready", { driver: 1, library: `agentese ${version} (TypeScript)`, runs: true, sends: barrier ? [barrier.command] : [] });
  return client;
}

async function listen(client: Client): Promise<void> {
  try {
    for await (const event of client.events()) {
      report("event", { event: event.type === "(unknown)" ? (event as unknown as { value: Json }).value : event });
    }
  } catch (error) {
    if (!(error instanceof Termination)) throw error;
    if (error.isClosedByUs) return;
    const { code, signal } = error.exit ?? {};
    report("terminated", { code, signal: signal == null ? null : constants.signals[signal as NodeJS.Signals] });
  }
}

async function call(client: Client, { call, command, params }: Instruction): Promise<void> {
  const row = client.spec.commands[command];
  // If a command has no response of its own at acceptance, its response ends the run, and the run is the
  // whole call.
  const whole = row?.answer === undefined;
  try {
    const helper = command.replace(/[/_](.)/g, (_, letter: string) => letter.toUpperCase());
    const value = await (client as unknown as Record<string, (params: Json) => Promise<unknown>>)[helper]?.(params);
    if (row?.run !== "starts") return report("result", { call, value });
    const run = value as Run;
    if (!whole) report("result", { call, value: run.answer });
    await run.wait().then(
      ({ endedBy, failure: failed }) => {
        // If the response ends a failed run, the driver reports the call as refused.
        if (failed !== undefined && endedBy === "answer") return report("error", { call, kind: "refused", message: failed.message });
        if (whole) report("result", { call });
        report("run_end", { call });
      },
      (error: unknown) => {
        if (whole) throw error;
        const { kind, message } = failure(error);
        report("run_end", { call, error: kind, message });
      },
    );
  } catch (error) {
    report("error", { call, ...failure(error) });
  }
}

let client: Client | undefined;
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as Instruction;
  if (client === undefined) {
    client = await start(message as unknown as { dialect: string; command: string[] });
  } else if (message.instruction === "call") {
    tasks.push(call(client, message));
  } else if (message.instruction === "answer") {
    // The library expects the value of the answer's only member. The suite never dismisses a dialog.
    waiting[Number(message.dialog) - 1]?.(Object.values(message.answer ?? {})[0]);
  } else {
    await client.close();
    await Promise.all(tasks);
    report("closed");
    break;
  }
}
