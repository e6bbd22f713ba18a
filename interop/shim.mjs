// pi's and omp's own clients spawn `node CLI ARGUMENTS` or `bun CLI ARGUMENTS`: this CLI is the reference agent. Without
// arguments of its own (INTEROP_ARGUMENTS), it speaks pi with the embedded model.
import { spawn } from "node:child_process";

const own = (process.env.INTEROP_ARGUMENTS ?? "--provider scripted").split(" ");
const agent = spawn(process.env.AGENTESE, [...process.argv.slice(2), ...own], { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => agent.kill(signal));
agent.on("exit", (code, signal) => process.exit(code ?? (signal ? 128 : 1)));
