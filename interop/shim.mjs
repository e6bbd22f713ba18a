// pi's own client spawns `node CLI ARGUMENTS`: this CLI is the reference agent.
import { spawn } from "node:child_process";

const agent = spawn(process.env.AGENTESE, [...process.argv.slice(2), "--provider", "scripted"], { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => agent.kill(signal));
agent.on("exit", (code, signal) => process.exit(code ?? (signal ? 128 : 1)));
