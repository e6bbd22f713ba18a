/** Prompts the user before a dangerous command of the model. */

import { Extension } from "agentese/extension";

const extension = new Extension("guard");

// An example, not a complete list of dangerous commands.
const DANGEROUS = new RegExp(
  String.raw`\brm\b.*\s(-\w*[rRf]\w*|--recursive|--force)\b|\bsudo\b|\bmkfs\b|\bdd\b.*\bof=` +
    String.raw`|\bgit\s+push\b.*\s(-f|--force)\b|>\s*/dev/sd`,
);

extension.on("tool_call", async (event, context) => {
  const command = String(event.input.command);
  if (event.toolName !== "bash" || !DANGEROUS.test(command)) return;
  // Without an answer of the user, the command does not run.
  const choice = await context.select(`Run this? ${command}`, ["Run", "Block"], { timeout: 60_000 });
  if (choice === "Run") return;
  context.notify(`Blocked: ${command}`, "warning");
  return { block: true, reason: "The user does not want this command." };
});

await extension.run();
