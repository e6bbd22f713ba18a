/** Entry point: an extension process that serves the agent on its stdin and stdout. */

import { Host } from "./host.js";
import { createLoader } from "./load.js";
import { modules } from "./modules/index.js";
import { claimStdio } from "./stdio.js";

const USAGE = "agentese-pi-host: started by an agent, it speaks agentese's extension protocol on stdin and stdout";

function main(): void {
  if (process.stdin.isTTY) {
    process.stderr.write(`${USAGE}\n`);
    process.exitCode = 2;
    return;
  }
  const channel = claimStdio();
  const write = (line: string): void => {
    try {
      channel.write(line);
    } catch {
      // The agent has disconnected.
      process.exit(0);
    }
  };
  const host = new Host(write, (mirror) => createLoader(modules(mirror), cacheFolder()));
  process.on("uncaughtException", (error) => host.uncaught(error));
  process.on("unhandledRejection", (error) => host.uncaught(error));
  channel.input.on("data", (chunk: Buffer) => host.connection.push(chunk));
  channel.input.on("end", () => process.exit(0));
  channel.input.on("error", () => process.exit(0));
}

/**
 * Returns the folder after `--cache` for compiled extensions. The folder must be private, because its files
 * are executed.
 */
function cacheFolder(): string | undefined {
  const at = process.argv.indexOf("--cache");
  return at < 0 ? undefined : process.argv[at + 1];
}

main();
