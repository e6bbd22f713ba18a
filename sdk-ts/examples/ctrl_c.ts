// A prompt for each line of stdin. Ctrl-C stops the run; without a run it ends the program.
// node ctrl_c.js agentese --mode rpc --provider scripted --no-session

import { createInterface } from "node:readline";

import { pi } from "agentese";
import { spawn } from "agentese/stdio";

await using client = await spawn(pi.Client, process.argv.slice(2));
let stop: AbortController | undefined;
process.on("SIGINT", () => (stop === undefined ? process.exit(130) : stop.abort()));

for await (const message of createInterface({ input: process.stdin })) {
  stop = new AbortController();
  try {
    for await (const event of await client.prompt({ message }, { signal: stop.signal, abortRun: true })) {
      if (event.type === "agent_start") console.log("(Ctrl-C stops this)");
      if (event.type !== "message_update" || event.assistantMessageEvent.type !== "text_delta") continue;
      process.stdout.write(event.assistantMessageEvent.delta);
    }
    console.log();
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    console.log("(stopped)");
  }
  stop = undefined;
}
