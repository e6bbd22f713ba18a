/** Asks before a command of the model that looks dangerous. */

import { Extension } from "agentese/extension";

const extension = new Extension("guard");

// An example: there is always one more way to write them.
const DANGEROUS = new RegExp(
  String.raw`\brm\b.*\s(-\w*[rRf]\w*|--recursive|--force)\b|\bsudo\b|\bmkfs\b|\bdd\b.*\bof=` +
    String.raw`|\bgit\s+push\b.*\s(-f|--force)\b|>\s*/dev/sd`,
);

extension.on("tool_call", async (event, context) => {
  const command = String(event.input.command);
  if (event.toolName !== "bash" || !DANGEROUS.test(command)) return;
  // Nobody may be there to answer: then the command does not run.
  const choice = await context.select(`Run this? ${command}`, ["Run", "Block"], { timeout: 60_000 });
  if (choice === "Run") return;
  context.notify(`Blocked: ${command}`, "warning");
  return { block: true, reason: "The user does not want this command." };
});

await extension.run();
