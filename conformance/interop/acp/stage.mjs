// Test environment for an agent, with a scripted model and an approval question before each command.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Model script. The prompt "run it" leads to a tool call, "hang" to an endless answer, and any other
 * prompt to a short text.
 */
const SCRIPT = {
  responses: [
    {
      when: { user: "run it", tool_results: false },
      keep: true,
      blocks: [{ text: ["Let me ", "run it. "] }, { tool: { name: "bash", args: { command: "echo from the tool > made" } } }],
    },
    { when: { user: "run it", tool_results: true }, keep: true, text: "It ran." },
    { when: { user: "hang" }, keep: true, blocks: [{ text: ["half ", "way"] }], hang_after: 1 },
  ],
  default: { text: "ok" },
};

/**
 * Creates an environment: `work`, the variables, the agent's command line, and a function that removes the
 * environment.
 */
export async function place() {
  const root = await mkdtemp(join(tmpdir(), "agentese-acp-"));
  const [work, home, script] = ["work", "home", "script.json"].map((name) => join(root, name));
  await mkdir(work);
  await mkdir(join(home, ".pi/agent"), { recursive: true });
  await writeFile(join(home, ".pi/agent/settings.json"), JSON.stringify({ approval: { tools: ["bash"] } }));
  await writeFile(script, JSON.stringify(SCRIPT));
  const env = { ...process.env, HOME: home };
  const command = [process.env.AGENTESE, "--mode", "acp", "--script", script];
  return { work, env, command, end: () => rm(root, { recursive: true, force: true }) };
}
