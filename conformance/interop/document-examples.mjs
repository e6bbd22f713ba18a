// Runs the two example clients at the end of pi's RPC document unchanged. They are extracted from
// the document in pi's npm package, and find the reference agent as `pi` on PATH.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as pause } from "node:timers/promises";

const document = await readFile(new URL("./node_modules/@mariozechner/pi-coding-agent/docs/rpc.md", import.meta.url), "utf8");
const block = (language, heading) => {
  const section = document.slice(document.indexOf(heading));
  return section.match(new RegExp("```" + language + "\\n([\\s\\S]*?)```"))[1];
};

/** Time limit of every wait in milliseconds. */
const PATIENCE = 60_000;

const folder = await mkdtemp(join(tmpdir(), "agentese-interop-"));
const root = fileURLToPath(new URL("../..", import.meta.url));

async function run(name, program, file, source) {
  const path = join(folder, file);
  const log = join(folder, `${file}.log`);
  await writeFile(path, source);
  const env = { ...process.env, PATH: `${join(root, "conformance/interop/bin")}:${process.env.PATH}`, AGENTESE_INTEROP_LOG: log };
  const child = spawn(program, [path], { cwd: root, env, detached: true, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (data) => (printed += data));
  const exited = new Promise((resolve) => child.on("exit", (code) => resolve({ code })));
  // The Node example does not exit by itself, so the agent's log shows the end of the run.
  const deadline = Date.now() + PATIENCE;
  let frames = [];
  while (!frames.some((frame) => frame.type === "agent_end")) {
    assert.ok(Date.now() < deadline, `${name}: no agent_end within a minute`);
    await pause(20);
    const text = await readFile(log, "utf8").catch(() => "");
    frames = text.split("\n").slice(0, -1).map((line) => JSON.parse(line));
  }
  const ended = await Promise.race([exited, pause(2_000, null)]);
  if (!ended) {
    process.kill(-child.pid, "SIGKILL");
    await exited;
  }
  const deltas = frames
    .filter((frame) => frame.type === "message_update" && frame.assistantMessageEvent.type === "text_delta")
    .map((frame) => frame.assistantMessageEvent.delta)
    .join("");
  assert.ok(deltas.length > 0, `${name}: the agent said nothing`);
  assert.equal(printed.trimEnd(), deltas.trimEnd(), `${name}: it printed something else`);
  console.log(`${name}: printed the ${deltas.length} characters of the answer`);
}

try {
  await run("the document's Python client", "python3", "client.py", block("python", "## Example: Basic Client (Python)"));
  await run("the document's Node client", "node", "client.cjs", block("javascript", "## Example: Interactive Client (Node.js)"));
} finally {
  await rm(folder, { recursive: true, force: true });
}
