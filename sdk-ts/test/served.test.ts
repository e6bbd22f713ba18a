import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";

import type { RpcClient } from "../src/client.js";
import { RefusedError } from "../src/error.js";
import { opal, operator } from "../src/index.js";
import type { AnyTypes } from "../src/spec.js";
import { spawn } from "../src/stdio.js";
import { soon } from "./support/agent.js";
import { REPOSITORY, readText } from "./support/files.js";

/**
 * Steps that exercise every row of a dialect against the reference agent, from
 * conformance/vectors/served.json.
 */
type Step =
  | { until: string }
  | { touch: string }
  | { call?: string; start?: string; params?: object; fails?: string; gives?: Record<string, unknown>; keep?: Record<string, string> };

interface Play {
  name: string;
  agent: string;
  files: Record<string, string>;
  model: object;
  extension?: string;
  answers: Record<string, string>;
  steps: Step[];
}

interface Row {
  name: string;
  undocumented?: boolean;
}

const TABLE = JSON.parse(readText("conformance", "vectors", "served.json")) as Record<string, Play[]>;
const MODEL = JSON.parse(readText("protocol", "model.json")) as {
  dialects: { name: string; commands: Row[]; events: Row[]; dialogs: Row[] }[];
};
const CLIENTS: Record<string, typeof opal.Client | typeof operator.Client> = { opal: opal.Client, operator: operator.Client };
const BUILT = join(process.env["CARGO_TARGET_DIR"] ?? join(REPOSITORY, "target"), "debug");
/** Commands, events and dialogs of a dialect that the tests have used or received. */
class SeenRows {
  readonly commands = new Set<string>();
  readonly events = new Set<string>();
  readonly dialogs = new Set<string>();
}

const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

function member(value: unknown, path: string): unknown {
  return path.split(".").reduce((inner, part) => (inner as Record<string, unknown>)[part], value);
}

function command(dialect: string, play: Play, script: string): string[] {
  const program = play.agent === "agentese" ? join(BUILT, "agentese") : join(BUILT, "examples", play.agent);
  assert.ok(existsSync(program), `${program} is missing: cargo build --workspace --bins --examples`);
  if (play.agent !== "agentese") return [program, dialect, script];
  const extension = play.extension === undefined ? [] : ["-e", join(REPOSITORY, play.extension)];
  return [program, "--mode", "rpc", "--dialect", dialect, "--provider", "scripted", "--script", script, ...extension];
}

async function plays(dialect: string, play: Play, place: string, seen: SeenRows): Promise<void> {
  const [work, home, script] = [join(place, "work"), join(place, "home"), join(place, "script.json")];
  for (const [name, text] of Object.entries(play.files)) {
    mkdirSync(dirname(join(work, name)), { recursive: true });
    writeFileSync(join(work, name), text);
  }
  mkdirSync(home);
  writeFileSync(script, JSON.stringify(play.model));
  const words: Record<string, string> = { WORK: work };
  const filled = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replace(/\$\{(\w+)\}/g, (_, word: string) => JSON.stringify(words[word]).slice(1, -1))) as T;
  const dialogs = Object.fromEntries(
    Object.entries(play.answers).map(([name, answer]) => [camel(name), () => (seen.dialogs.add(name), answer)]),
  );
  const env = { HOME: home, AGENTESE_HOME: undefined, OPAL_HOME: undefined, OPAL_COPILOT_DOMAIN: undefined };
  const make = CLIENTS[dialect] as unknown as new () => RpcClient<AnyTypes>;
  await using client = await spawn(make, command(dialect, play, script), { cwd: work, env, dialogs } as object);
  const events = client.events()[Symbol.asyncIterator]();
  for (const step of play.steps) {
    if ("until" in step) {
      for (let kind = ""; kind !== step.until; seen.events.add(kind)) {
        const next = await soon(events.next());
        assert.ok(next.done !== true, `${step.until} does not come`);
        kind = (next.value as { type: string }).type;
      }
    } else if ("touch" in step) {
      writeFileSync(join(work, step.touch), "");
    } else {
      const name = step.call ?? step.start ?? assert.fail("a step without a name");
      seen.commands.add(name);
      const method = (client as unknown as Record<string, (params?: object) => Promise<unknown>>)[camel(name)];
      assert.ok(method !== undefined, name);
      const call = step.params === undefined ? method.call(client) : method.call(client, filled(step.params));
      if (step.fails !== undefined) {
        const error: unknown = await soon(call).then(() => undefined, (reason: unknown) => reason);
        assert.ok(error instanceof RefusedError, `${name}: ${String(error)}`);
        assert.equal(error.kind, step.fails, `${name}: ${error.message}`);
        continue;
      }
      const result = await soon(call);
      for (const [path, value] of Object.entries(step.gives ?? {})) assert.deepEqual(member(result, path), filled(value), `${name}: ${path}`);
      for (const [word, path] of Object.entries(step.keep ?? {})) words[word] = String(member(result, path));
    }
  }
}

for (const [dialect, table] of Object.entries(TABLE)) {
  test(`every row of ${dialect} against the reference agent`, async () => {
    const seen = new SeenRows();
    for (const play of table) {
      const place = mkdtempSync(join(tmpdir(), "agentese-served-"));
      try {
        await plays(dialect, play, place, seen);
      } finally {
        rmSync(place, { recursive: true });
      }
    }
    const rows = MODEL.dialects.find(({ name }) => name === dialect) ?? assert.fail(dialect);
    const names = (all: Row[]): string[] => all.filter((row) => row.undocumented !== true).map((row) => row.name).sort();
    assert.deepEqual([...seen.commands].sort(), names(rows.commands));
    for (const event of names(rows.events)) assert.ok(seen.events.has(event), `${event} was not heard`);
    assert.deepEqual([...seen.dialogs].sort(), names(rows.dialogs));
  });
}
