/** Shows a status line with the number of turns and the current activity. */

import { Extension } from "agentese/extension";

const extension = new Extension("status-line");
let turns = 0;

extension.on("session_start", (_event, context) => context.setStatus("turns", "ready"));

extension.on("turn_start", (_event, context) => {
  turns += 1;
  context.setStatus("turns", `turn ${turns}`);
});

extension.on("tool_execution_start", (event, context) => {
  context.setStatus("turns", `turn ${turns}: ${event.toolName}`);
});

extension.on("agent_end", (_event, context) => context.setStatus("turns", `${turns} turns, done`));

await extension.run();
