// Tests third-party ACP clients: acpx, and the example client of the crate agent-client-protocol, whose path
// is in YOLO. Each runs a prompt with a tool call and a permission to its end.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { place } from "./stage.mjs";

const run = promisify(execFile);
const acpx = fileURLToPath(new URL("./node_modules/.bin/acpx", import.meta.url));

for (const [name, program, options] of [
  ["acpx", acpx, (agent) => ["--agent", agent, "--approve-all", "--format", "json", "exec", "run it"]],
  ["the example client of the crate", process.env.YOLO, (agent) => ["--command", agent, "run it"]],
]) {
  const { work, env, command, end } = await place();
  const { stdout, stderr } = await run(program, options(command.join(" ")), { cwd: work, env, timeout: 120_000 });
  const said = stdout + stderr;
  assert.ok(existsSync(join(work, "made")), `${name}: the tool ran\n${said}`);
  assert.match(said, /It ran\./, `${name}: the answer came`);
  assert.match(said, /end_turn|EndTurn/, `${name}: the turn ended`);
  await end();
  console.log(`ok: ${name}: prompt, streaming, tool call, permission`);
}
