// Tests omp's own RpcClient, from its npm package, against the reference agent, with every command of the
// client. Runs under bun.
import assert from "node:assert/strict";
import { appendFile, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { RpcClient } from "./node_modules/@oh-my-pi/pi-coding-agent/src/modes/rpc/rpc-client.ts";
// @ts-ignore: a module without types.
import { startModel } from "./agents/model.mjs";
// @ts-ignore: a module without types.
import { PROFILES } from "./agents/profiles.mjs";

const model = await startModel();
const home = await mkdtemp(join(tmpdir(), "agentese-omp-client-"));
const cwd = join(home, "work");
await mkdir(join(home, ".omp/agent"), { recursive: true });
await mkdir(cwd);
const files: Record<string, object> = PROFILES.omp.files(model.url);
for (const name of [".omp/agent/models.yml", ".omp/agent/config.yml"]) await writeFile(join(home, name), JSON.stringify(files[name]));

const client = new RpcClient({
  cliPath: fileURLToPath(new URL("./shim.mjs", import.meta.url)),
  cwd,
  env: { HOME: home, INTEROP_ARGUMENTS: "--dialect omp@13.19" },
  provider: "loopback",
  model: "one",
  args: [],
});

const walked = new Set<string>();
const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
  walked.add(name);
  try {
    return await work();
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : error}`);
  }
};
/** Waits for an event of that type; the listener is registered before `work` begins. */
const until = async (type: string, work: () => Promise<unknown>): Promise<any> => {
  const { promise, resolve, reject } = Promise.withResolvers<any>();
  const timer = setTimeout(() => reject(new Error(`no ${type} within 20 s`)), 20_000);
  const stop = client.onEvent((event) => event.type === type && resolve(event));
  try {
    await work();
    return await promise;
  } finally {
    clearTimeout(timer);
    stop();
  }
};
const refused = (work: Promise<unknown>, text: RegExp) => assert.rejects(work, (error: Error) => text.test(error.message));

try {
  await client.start();
  const fresh = await step("getState", () => client.getState());
  assert.equal(fresh.isStreaming, false);
  assert.equal(fresh.model?.id, "one");
  assert.equal(fresh.queuedMessageCount, 0);
  assert.deepEqual((await step("getAvailableModels", () => client.getAvailableModels())).map(({ id }) => id), ["one", "two"]);
  assert.equal((await step("setModel", () => client.setModel("loopback", "two"))).id, "two");
  assert.equal((await step("cycleModel", () => client.cycleModel()))?.model.id, "one");
  await refused(client.setModel("loopback", "none"), /Model not found: loopback\/none/);
  await step("setThinkingLevel", () => client.setThinkingLevel("low"));
  assert.equal((await step("cycleThinkingLevel", () => client.cycleThinkingLevel()))?.level, "medium");
  await step("setSteeringMode", () => client.setSteeringMode("all"));
  await step("setFollowUpMode", () => client.setFollowUpMode("all"));
  await step("setAutoCompaction", () => client.setAutoCompaction(false));
  await step("setAutoRetry", () => client.setAutoRetry(true));
  const set = await client.getState();
  assert.deepEqual([set.steeringMode, set.followUpMode, set.autoCompactionEnabled, set.thinkingLevel], ["all", "all", false, "medium"]);

  // A streamed run with a tool call.
  const events = await step("promptAndWait", () => client.promptAndWait("use a tool"));
  const types = events.map((event) => event.type);
  assert.deepEqual([types[0], types.at(-1)], ["agent_start", "agent_end"]);
  for (const type of ["turn_start", "message_update", "tool_execution_start", "tool_execution_end", "turn_end"])
    assert.ok((types as string[]).includes(type), `no ${type}`);
  assert.match((await step("getLastAssistantText", () => client.getLastAssistantText())) ?? "", /The tool said: from the tool/);
  const messages = await step("getMessages", () => client.getMessages());
  assert.deepEqual(messages.map(({ role }) => role), ["user", "assistant", "toolResult", "assistant"]);
  const stats = await step("getSessionStats", () => client.getSessionStats());
  assert.deepEqual([stats.toolCalls, stats.assistantMessages], [1, 2]);

  // Steering, follow-ups, an abort, and a prompt that replaces a run.
  await until("message_update", () => step("prompt", () => client.prompt("speak slowly")));
  await step("steer", () => client.steer("turn left"));
  await step("followUp", () => client.followUp("and then"));
  assert.equal((await client.getState()).queuedMessageCount, 2);
  const stopped = await until("agent_end", () => step("abort", () => client.abort()));
  assert.equal(stopped.messages.at(-1).stopReason, "aborted");
  await until("message_update", () => client.prompt("speak slowly"));
  const ends: any[] = [];
  const stop = client.onEvent((event) => event.type === "agent_end" && ends.push(event));
  await step("abortAndPrompt", () => client.abortAndPrompt("something else"));
  while (ends.length < 2) await client.waitForIdle(20_000);
  stop();
  assert.deepEqual([ends.length, ends[0].messages.at(-1).stopReason], [2, "aborted"]);
  assert.match((await client.getLastAssistantText()) ?? "", /You said: /);
  await step("abortRetry", () => client.abortRetry());

  // Shell commands of the user: the state of the shell persists between them, and a running one is aborted.
  await step("bash", () => client.bash("mkdir below; cd below; export LEFT=here"));
  const found = await client.bash("basename $PWD; echo $LEFT; exit 3");
  assert.deepEqual([found.output, found.exitCode], ["below\nhere\n", 3]);
  const hanging = client.bash("sleep 60");
  await step("abortBash", () => client.abortBash());
  assert.equal((await hanging).cancelled, true);

  // Sessions: an exported page, a summary, branches, and changes to another session and back.
  const page = await step("exportHtml", () => client.exportHtml(join(home, "page.html")));
  assert.ok((await stat(page.path)).size > 1000);
  const points = await step("getBranchMessages", () => client.getBranchMessages());
  assert.equal(points[0].text, "use a tool");
  const branched = await step("branch", () => client.branch(points[0].entryId));
  assert.deepEqual(branched, { text: "use a tool", cancelled: false });
  assert.equal((await client.getMessages()).length, 0);
  const idle = step("waitForIdle", () => client.waitForIdle(20_000));
  await client.prompt("Hello. " + "some words that fill the context ".repeat(40));
  await idle;
  await client.promptAndWait("Again. " + "some words that fill the context ".repeat(40));
  assert.match((await step("compact", () => client.compact("in one line"))).summary, /./);
  const { sessionFile } = await client.getState();
  assert.ok(sessionFile);
  assert.deepEqual(await step("newSession", () => client.newSession()), { cancelled: false });
  assert.equal((await client.getMessages()).length, 0);
  assert.deepEqual(await step("switchSession", () => client.switchSession(sessionFile)), { cancelled: false });
  assert.equal((await client.getState()).sessionFile, sessionFile);
  const notes = join(home, "notes.txt");
  await appendFile(notes, "not a session\n");
  await refused(client.switchSession(notes), /is not a session/);

  // Methods of the client's class, except those for starting, stopping and listening.
  const own = Object.getOwnPropertyNames(RpcClient.prototype);
  const left = own.filter((name) => !["constructor", "start", "stop", "onEvent", "getStderr", "collectEvents"].includes(name) && !walked.has(name));
  assert.deepEqual(left, [], "methods that were not called");
  console.log(`omp's RpcClient: ${walked.size} methods, ${events.length} events of a run with a tool`);
} catch (error) {
  console.error(client.getStderr());
  throw error;
} finally {
  client.stop();
  model.stop();
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(0);
