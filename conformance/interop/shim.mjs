// Command line program for pi's and omp's own clients, which spawn `node CLI ARGUMENTS` or `bun CLI
// ARGUMENTS`: it starts the reference agent. Without INTEROP_ARGUMENTS, the agent speaks pi with the scripted
// model. INTEROP_COMMAND, a JSON list, replaces all arguments.
import { spawn } from "node:child_process";

const own = (process.env.INTEROP_ARGUMENTS ?? "--provider scripted").split(" ");
const command = process.env.INTEROP_COMMAND ? JSON.parse(process.env.INTEROP_COMMAND) : [...process.argv.slice(2), ...own];
const agent = spawn(process.env.AGENTESE, command, { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => agent.kill(signal));
agent.on("exit", (code, signal) => process.exit(code ?? (signal ? 128 : 1)));
