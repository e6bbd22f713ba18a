// Streams an answer, and prints the names of the tools that the agent uses.
// node streaming.js agentese --mode rpc --provider scripted --no-session

import { pi } from "agentese";
import { spawn } from "agentese/stdio";

await using client = await spawn(pi.Client, process.argv.slice(2));
const run = await client.prompt({ message: "What is in this directory?" });
for await (const event of run) {
  if (event.type === "tool_execution_start") console.error(`[${event.toolName}]`);
  if (event.type !== "message_update") continue;
  const piece = event.assistantMessageEvent;
  if (piece.type === "text_delta") process.stdout.write(piece.delta);
}
process.stdout.write("\n");
