// Driver of pi's and omp's RpcClient for `agentese-conformance torture --client`: instructions on stdin,
// reports on stdout, as in docs/conformance-clients.md. `node driver.mjs …/rpc-client.js`,
// `bun driver.mjs …/rpc-client.ts`.
//
// Operations without a method in the client are reported as `unsupported`. The driver uses public methods
// only. The exception is the exit of the agent, which pi's client stores in a private field.
import { constants } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const { RpcClient } = await import(pathToFileURL(process.argv[2]).href);

const report = (kind, members = {}) => process.stdout.write(`${JSON.stringify({ report: kind, ...members })}\n`);

/** Parameters of each method, in order. Other methods have no parameters. */
const PARAMETERS = {
  prompt: ["message", "images"], steer: ["message", "images"], follow_up: ["message", "images"],
  abort_and_prompt: ["message", "images"], new_session: ["parentSession"], set_model: ["provider", "modelId"],
  set_thinking_level: ["level"], set_steering_mode: ["mode"], set_follow_up_mode: ["mode"], set_interrupt_mode: ["mode"],
  compact: ["customInstructions"], set_auto_compaction: ["enabled"], set_auto_retry: ["enabled"], bash: ["command"],
  export_html: ["outputPath"], switch_session: ["sessionPath"], fork: ["entryId"], branch: ["entryId"],
  set_session_name: ["name"],
};
/** Member of the answer's data that a method returns, by method. Other methods return the whole data. */
const GIVES = {
  get_available_models: "models", get_fork_messages: "messages", get_branch_messages: "messages",
  get_messages: "messages", get_commands: "commands", get_last_assistant_text: "text",
};

let client;

let started;

function start({ command }) {
  client = new RpcClient({
    cliPath: fileURLToPath(new URL("./agent.mjs", import.meta.url)),
    env: { TORTURE_AGENT: JSON.stringify(command) },
  });
  let asked = 0;
  client.onEvent((event) => {
    if (event.type !== "extension_ui_request") return report("event", { event });
    const { type: _, ...params } = event;
    report("dialog", { dialog: String(++asked), method: event.method, params });
  });
  // omp's client waits for the first frame of the agent, which arrives only after the driver is ready.
  const ready = client.start();
  // The client reports that frame only through this promise.
  if (!("process" in client)) ready.then(() => report("event", { event: { type: "ready" } }), () => {});
  const terminated = (code, signal) => stopping || report("terminated", { code, signal: constants.signals[signal] ?? null });
  const agent = client.process;
  if (agent && (agent.exitCode !== null || agent.signalCode !== null)) terminated(agent.exitCode, agent.signalCode);
  else agent?.once("exit", terminated);
  report("ready", { driver: 1, library: process.argv[3] ?? "RpcClient" });
  return ready;
}

let stopping = false;

async function call({ call, command, params }) {
  const names = PARAMETERS[command] ?? [];
  const method = client[command.replace(/_(.)/g, (_, letter) => letter.toUpperCase())];
  const more = Object.keys(params).find((name) => !names.includes(name));
  if (!method || more) {
    return report("unsupported", { reason: `the client has no method for \`${command}\`${more ? ` with \`${more}\`` : ""}` });
  }
  try {
    await started;
    const value = await method.apply(client, names.map((name) => params[name]));
    report("result", { call, value: command in GIVES ? { [GIVES[command]]: value } : value ?? null });
  } catch (error) {
    const { message } = error;
    const kind = /^Timeout/.test(message) ? "timed_out" : /^Agent process|not started/.test(message) ? "terminated" : "refused";
    report("error", { call, kind, message });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const told = JSON.parse(line);
  if (told.instruction === "start") (started = start(told)).catch(() => {});
  else if (told.instruction === "call") void call(told);
  else if (told.instruction === "answer") report("unsupported", { reason: "the client has no method that answers a dialog" });
  else {
    stopping = true;
    await client.stop();
    report("closed");
    process.exit(0);
  }
}
