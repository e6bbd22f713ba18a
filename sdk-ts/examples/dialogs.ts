// Shows the agent's dialogs to the user: one line of stdin for each answer, an empty line for no answer.
// node dialogs.js agentese --mode rpc -e extensions/examples/python/dialogs.py

import { createInterface } from "node:readline";

import { pi } from "agentese";
import { spawn } from "agentese/stdio";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function ask(question: string): Promise<string | undefined> {
  console.log(question);
  const { value } = await lines.next();
  return value || undefined;
}

const dialogs: pi.Dialogs = {
  select: async ({ title, options }) => {
    const answer = await ask(`${title} (${options.join(", ")})`);
    return options.find((option) => option === answer);
  },
  confirm: async ({ title, message }) => (await ask(`${title} ${message} (yes, no)`)) === "yes",
  input: ({ title }) => ask(title),
  editor: ({ title }) => ask(title),
  setWidget: ({ widgetLines }) => widgetLines?.forEach((line) => console.log(`  ${line}`)),
  notify: ({ message }) => console.log(message),
};

await using client = await spawn(pi.Client, process.argv.slice(2), { dialogs });
await (await client.prompt({ message: "/dialogs" })).result();
