// Prompts ten agents at once, prints the first five answers and stops the other agents.
// node ten_at_once.js agentese --mode rpc --provider scripted --no-session

import { pi } from "agentese";
import { spawn } from "agentese/stdio";

const enough = new AbortController();
const answers: string[] = [];

async function ask(number: number): Promise<void> {
  await using client = await spawn(pi.Client, process.argv.slice(2));
  const run = await client.prompt({ message: `Tell me about ${number}.` }, { signal: enough.signal, abortRun: true });
  await run.result();
  const { text } = await client.getLastAssistantText();
  if (answers.length < 5) answers.push(`${number}: ${text}`);
  if (answers.length === 5) enough.abort();
}

const all = await Promise.allSettled(Array.from({ length: 10 }, (_, number) => ask(number)));
console.log(answers.sort().join("\n"));
const stopped = all.filter((one) => one.status === "rejected" && one.reason === enough.signal.reason);
console.log(`${stopped.length} were stopped`);
