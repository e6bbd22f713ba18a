// Restarts an agent after its end, and continues its session.
// node supervisor.js agentese --mode rpc --provider scripted

import { setTimeout as pause } from "node:timers/promises";

import { Termination, pi } from "agentese";
import { spawn } from "agentese/stdio";

let session: string | undefined;
let message = "Begin with the work.";

for (let attempt = 1; ; attempt++) {
  try {
    await using client = await spawn(pi.Client, process.argv.slice(2));
    if (session !== undefined) await client.switchSession({ sessionPath: session });
    session = (await client.getState()).sessionFile;
    const run = await client.prompt({ message });
    console.log(`attempt ${attempt}: process ${client.processId} works`);
    await run.result();
    const { text } = await client.getLastAssistantText();
    const { userMessages } = await client.getSessionStats();
    console.log(`done after ${userMessages} messages: ${text}`);
    break;
  } catch (error) {
    if (!(error instanceof Termination) || attempt === 5) throw error;
    console.log(`attempt ${attempt}: ${error.message}`);
    message = "You were interrupted. Continue with the work.";
    await pause(100 * 2 ** attempt);
  }
}
