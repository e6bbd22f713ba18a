import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { RefusedError, Termination, UsageError, pi } from "../src/index.js";
import { SpawnError, respawn, spawn } from "../src/stdio.js";
import { PATIENCE, failure, soon } from "./support/agent.js";

const scratch = mkdtempSync(join(tmpdir(), "agentese-ts-"));
after(() => rmSync(scratch, { recursive: true }));

/**
 * A small agent that answers every command with the members of that command. Some commands also affect its
 * process.
 */
const AGENT = `
  const lines = require("node:readline").createInterface({ input: process.stdin });
  const say = (frame) => process.stdout.write(JSON.stringify(frame) + "\\n");
  lines.on("line", (line) => {
    const { id, type, ...data } = JSON.parse(line);
    if (type === "mute") return;
    if (type === "die") { process.stderr.write("the last words\\n", () => process.exit(data.code)); return; }
    if (type === "kill") process.kill(process.pid, "SIGKILL");
    if (type === "stderr") process.stderr.write("x".repeat(data.bytes) + "the end\\n");
    if (type === "refuse") return say({ id, type: "response", command: type, success: false, error: "no" });
    say({ id, type: "response", command: type, success: true, data });
  });
`;

const command = (code: string): string[] => [process.execPath, "-e", code];

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie is not alive.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + PATIENCE;
  while (!condition()) {
    assert.ok(Date.now() < deadline, what);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("a loop over the events ends without a failure when this side ends the program", async () => {
  const client = await spawn(pi.Client, command(AGENT));
  const events = client.events();
  await soon(client.request("echo"));
  await soon(client.close());
  for await (const event of events) assert.fail(event.type);
});

test("output before the exit of an agent reaches slow subscribers and full queues", async () => {
  const code = `
    const say = (frame) => process.stdout.write(JSON.stringify(frame) + "\\n");
    for (let n = 0; n < 2000; n++) say({ type: "turn_start", n, filling: "x".repeat(100) });
    process.stdout.write(JSON.stringify({ type: "agent_start" }) + "\\n", () => process.exit(0));
  `;
  const client = await spawn(pi.Client, command(code), { queueBytes: 10_000 });
  const all = client.events();
  let seen = 0;
  let last = "";
  const error = await failure(
    (async () => {
      for await (const event of all) {
        if (seen++ % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
        last = event.type;
      }
    })(),
  );
  assert.ok(error instanceof Termination && error.exit?.code === 0 && !error.isClosedByUs);
  assert.deepEqual([seen, last, all.dropped, client.droppedEvents], [2001, "agent_start", 0, 0]);
});

test("an agent that ends while a subscriber does not read: calls fail at once, and its events are there", async () => {
  const code = `
    const line = JSON.stringify({ type: "turn_start", filling: "x".repeat(1000) }) + "\\n";
    process.stdout.write(line.repeat(300), () => undefined);
    setTimeout(() => process.exit(4), 100);
  `;
  const client = await spawn(pi.Client, command(code), { queueBytes: 5000 });
  const events = client.events();
  const error = await failure(client.getState());
  assert.ok(error instanceof Termination && error.exit?.code === 4);
  let seen = 0;
  assert.equal(await failure((async () => { for await (const _ of events) seen++; })()), error);
  // The process exited before it had written all of its output.
  assert.ok(seen > 60 && seen <= 300, String(seen));
});

test("fm_F39 an agent that leaves a process behind which holds the pipe ends all the same", async () => {
  // The process outlives the agent, so the test kills it by its id. The shell continues once the process has
  // left the group.
  const left = join(scratch, "holds");
  const holds = `(trap "" TERM HUP; exec setsid sh -c 'echo $$ > ${left}; exec sleep 1000') & until [ -s ${left} ]; do sleep 0.01; done`;
  const script = `${holds}; echo '{"type":"turn_start"}'; exit 5`;
  const client = await spawn(pi.Client, ["sh", "-c", script], { eofGrace: 20, termGrace: 20 });
  const types: string[] = [];
  const events = failure((async () => { for await (const event of client.events()) types.push(event.type); })());
  try {
    assert.equal((await soon(client.terminated)).exit?.code, 5);
    await events;
  } finally {
    process.kill(Number(readFileSync(left, "utf8")), "SIGKILL");
  }
  assert.deepEqual(types, ["turn_start"]);
});

test("a program is started, answers, and ends with its input", async () => {
  const client = await spawn(pi.Client, command(AGENT));
  assert.ok(client.processId !== undefined && alive(client.processId));
  assert.deepEqual(await soon(client.request("echo", { a: "\u2028🦀" })), { a: "\u2028🦀" });
  assert.ok((await failure(client.request("refuse"))) instanceof RefusedError);
  const end = await soon(client.close());
  assert.deepEqual([end.reason, end.exit?.code, end.exit?.signal], ["exited", 0, null]);
  assert.ok(end.isClosedByUs);
  assert.equal(end.message, "the client closed the connection");
  assert.ok(!alive(client.processId));
});

test("options reach the program", async () => {
  const code = `process.stdout.write(JSON.stringify({ id: "req-1", type: "response", command: "x", success: true,
    data: [process.cwd(), process.env.FRESH, process.env.HOME ?? null] }) + "\\n"); process.stdin.resume()`;
  await using client = await spawn(pi.Client, command(code), { cwd: scratch, env: { FRESH: "yes", HOME: undefined } });
  assert.deepEqual(await soon(client.request("x")), [scratch, "yes", null]);
});

test("fm_F33 an agent that is killed settles every call at once, with its signal and stderr", async () => {
  await using client = await spawn(pi.Client, command(AGENT));
  await soon(client.request("stderr", { bytes: 100_000 }));
  const run = failure(client.prompt({ message: "x" }).then((run) => run.result()));
  const pending = failure(client.request("mute"));
  const error = await failure(client.request("kill"));
  assert.ok(error instanceof Termination);
  assert.deepEqual([error.reason, error.exit?.signal, error.exit?.code], ["exited", "SIGKILL", null]);
  assert.ok(error.stderrTail.endsWith("xxthe end\n") && error.stderrTail.length <= 64 * 1024);
  assert.match(error.message, /^the agent was killed by SIGKILL, last on stderr: x+…$/);
  assert.equal(await pending, error);
  assert.equal(await run, error);
});

test("fm_F34 an agent that ends before its first answer", async () => {
  const client = await spawn(pi.Client, command(`process.stderr.write("no \\u001b[31mkey\\n"); process.exit(3)`));
  const error = await failure(client.getState());
  assert.ok(error instanceof Termination);
  assert.equal(error.exit?.code, 3);
  assert.equal(error.message, "the agent exited with code 3, last on stderr: no  [31mkey");
  assert.equal(await failure(client.getState()), error);
});

test("fm_F34 an agent that prints the reason of its end", async () => {
  const client = await spawn(pi.Client, command(AGENT));
  const error = await failure(client.request("die", { code: 7 }));
  assert.ok(error instanceof Termination && error.exit?.code === 7 && error.stderrTail === "the last words\n");
});

test("fm_F35 programs that cannot be started", async () => {
  const plain = join(scratch, "plain");
  writeFileSync(plain, "text");
  const orphan = join(scratch, "orphan");
  writeFileSync(orphan, "#!/no/such/interpreter\n", { mode: 0o755 });
  for (const [program, reason, options] of [
    ["no-such-program-anywhere", "not_found", {}],
    ["/no/such/program", "not_found", {}],
    [plain, "not_executable", {}],
    [scratch, "not_executable", {}],
    [orphan, "not_executable", {}],
    [process.execPath, "working_directory", { cwd: "/no/such/directory" }],
    ["", "other", {}],
  ] as const) {
    const error = await failure(spawn(pi.Client, [program], options));
    assert.ok(error instanceof SpawnError, String(error));
    assert.deepEqual([error.kind, error.reason, error.program], ["spawn", reason, program]);
  }
});

test("fm_F39 a wrapper and its children are ended, whatever signals they ignore", async () => {
  const pids = join(scratch, "pids");
  const script = `trap "" TERM INT HUP; sleep 1000 & echo $! $$ > ${pids}; cat > /dev/null; wait`;
  const client = await spawn(pi.Client, ["sh", "-c", script], { eofGrace: 50, termGrace: 50 });
  await until(() => existsSync(pids) && readFileSync(pids, "utf8").endsWith("\n"), "it did not start");
  const started = readFileSync(pids, "utf8").trim().split(" ").map(Number);
  assert.equal(started.length, 2);
  const end = await soon(client.close());
  assert.equal(end.exit?.signal, "SIGKILL");
  await until(() => !started.some(alive), `${started.join()} are left`);
});

test("fm_F39 leftover processes of a group leader are ended", async () => {
  const pids = join(scratch, "left");
  const script = `sleep 1000 > /dev/null 2>&1 < /dev/null & echo $! > ${pids}; exit 4`;
  const client = await spawn(pi.Client, ["sh", "-c", script], { eofGrace: 50, termGrace: 50 });
  assert.equal((await soon(client.terminated)).exit?.code, 4);
  const started = Number(readFileSync(pids, "utf8"));
  await until(() => !alive(started), `${started} is left`);
});

test("fm_F38 a client that is dropped takes its agent with it", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const pid = await (async () => (await spawn(pi.Client, command(AGENT))).processId)();
  assert.ok(pid !== undefined && alive(pid));
  await until(() => {
    collect();
    return !alive(pid);
  }, "the agent is left");
});

test("a large line's memory is given back", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const held = (): number => {
    // The memory of a buffer is released only by the second collection.
    collect();
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const code = `
    const lines = require("node:readline").createInterface({ input: process.stdin });
    lines.on("line", (line) => {
      const { id, type, mebibytes } = JSON.parse(line);
      process.stdout.write(JSON.stringify({ id, type: "response", command: type, success: true, data: "x".repeat(mebibytes << 20) }) + "\\n");
    });
  `;
  await using client = await spawn(pi.Client, command(code));
  await soon(client.request("large", { mebibytes: 0 }));
  const before = held();
  for (const mebibytes of [60, 0]) {
    const data = await soon(client.request("large", { mebibytes }));
    assert.equal((data as string).length, mebibytes << 20);
  }
  const kept = held() - before;
  assert.ok(kept < 8 << 20, `${kept} bytes`);
});

test("fm_F38 a client with a pending call is not dropped", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const answer = (async () => (await spawn(pi.Client, command(AGENT))).request("echo", { a: 1 }))();
  for (let n = 0; n < 20; n++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assert.deepEqual(await soon(answer), { a: 1 });
});

test("fm_F40 starting and stopping leaves nothing behind", async () => {
  const descriptors = (): number => readdirSync("/proc/self/fd").length;
  const cycle = async (): Promise<void> => {
    const client = await spawn(pi.Client, ["cat"]);
    await soon(client.sendRaw("{}"));
    await soon(client.close());
  };
  for (let n = 0; n < 10; n++) await cycle();
  const before = descriptors();
  const listeners = process.listenerCount("exit");
  for (let n = 0; n < Number(process.env["CYCLES"] ?? 100); n++) await cycle();
  await until(() => descriptors() <= before + 2, `${descriptors()} descriptors, ${before} before`);
  assert.equal(process.listenerCount("exit"), listeners);
});

test("fm_F132 a program is started once more, with nothing of the old connection in it", async () => {
  const client = await spawn(pi.Client, command(AGENT));
  await soon(client.request("echo"));
  await failure(client.request("kill"));
  await using again = await respawn(client);
  assert.ok(again instanceof pi.Client);
  assert.deepEqual(await soon(again.request("echo", { b: 2 })), { b: 2 });
  assert.ok((await failure(respawn({}))) instanceof UsageError);
});

test("an agent that does not read its input makes writes wait, and its end settles them", async () => {
  const client = await spawn(pi.Client, command(`setTimeout(() => process.exit(5), 200)`));
  const large = "x".repeat(1 << 20);
  const calls = Array.from({ length: 4 }, () => failure(client.steer({ message: large })));
  const end = await soon(client.terminated);
  assert.equal(end.exit?.code, 5);
  for (const error of await Promise.all(calls)) assert.equal(error, end);
});

test("each line of stderr is delivered, and a throwing listener is not called again", async () => {
  const lines: string[] = [];
  const code = `process.stderr.write("one\\r\\ntwo\\nbad\\nafter\\n", () => process.exit(0))`;
  const client = await spawn(pi.Client, command(code), {
    onStderrLine: (line) => {
      if (line === "bad") throw new Error("broken");
      lines.push(line);
    },
  });
  await soon(client.terminated);
  assert.deepEqual(lines, ["one", "two"]);
});

test("children are killed when this process exits", async () => {
  const module = new URL("../src/index.js", import.meta.url).href;
  const stdio = new URL("../src/stdio.js", import.meta.url).href;
  const code = `
    import { pi } from ${JSON.stringify(module)};
    import { spawn } from ${JSON.stringify(stdio)};
    const client = await spawn(pi.Client, ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]);
    process.stdout.write(String(client.processId), () => process.exit(0));
  `;
  const { execFileSync } = await import("node:child_process");
  const pid = Number(execFileSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" }));
  await until(() => !alive(pid), `${pid} is left`);
});
