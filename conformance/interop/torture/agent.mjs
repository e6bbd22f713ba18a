// Script that third-party clients start with their own runtime. It runs the command in TORTURE_AGENT, a JSON
// array.
import { spawn } from "node:child_process";

const [program, ...given] = JSON.parse(process.env.TORTURE_AGENT);
const agent = spawn(program, given, { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => agent.kill(signal));
agent.on("exit", (code, signal) => (signal ? process.kill(process.pid, signal) : process.exit(code)));
