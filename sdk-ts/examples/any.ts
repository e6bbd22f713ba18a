// Sends a prompt to an agent of any dialect, and prints the text and the tools of the run.
//
//   node any.js 'What is in this folder?' pi --mode rpc

import { connect } from "agentese/any";
import { spawnChild } from "agentese/stdio";

const [question = "", ...command] = process.argv.slice(2);
await using agent = await connect(await spawnChild(command));
console.log(`(${agent.dialect})`);
const run = await agent.prompt(question);
for await (const event of run) {
  if (event.type === "textGrew") process.stdout.write(event.text);
  if (event.type === "toolStarted") console.log(`\n[${event.name}]`);
}
console.log();
