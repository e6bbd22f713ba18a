// Real agents in each revision, and the paths of their programs.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const TARGET = process.env.CARGO_TARGET_DIR ?? join(ROOT, "target");
/**
 * Folder of the agents that `revisions/install` installs. A package registry cannot install several
 * revisions side by side.
 */
const PEERS = process.env.PEERS ?? join(TARGET, "interop/peers");

/** Common arguments of the agents. */
export const WORDS = ["--mode", "rpc", "--model", "loopback/one"];

const here = (path) => {
  const found = [join(PEERS, path), join(ROOT, "conformance/interop/node_modules", path.replace(/^.*node_modules\//, ""))].find(existsSync);
  return found ?? assert.fail(`${path} is not there: \`conformance/interop/revisions/install\` installs it`);
};
const bun = () => here("omp/bun/node_modules/@oven/bun-linux-x64/bin/bun");
const PI = "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js";
const OMP = "node_modules/@oh-my-pi/pi-coding-agent/src/cli.ts";

/** Functions that return the program of the real pi, by revision. */
export const PROGRAM = {
  "pi@0.55": () => [process.execPath, here("pi/node_modules/@mariozechner/pi-coding-agent/dist/cli.js")],
  "pi@1.5": () => [here("pi152/node24/node_modules/.bin/node"), here(`pi152/x/${PI}`)],
  "pi@1.6": () => [here("pi160/node24/node_modules/.bin/node"), here(`pi160/x/${PI}`)],
};

/** Functions that return the command line of the real agent, by revision. */
export const REAL = {
  "pi@0.55": () => [...PROGRAM["pi@0.55"](), ...WORDS, "--offline"],
  "pi@1.5": () => [...PROGRAM["pi@1.5"](), ...WORDS, "--offline"],
  "pi@1.6": () => [...PROGRAM["pi@1.6"](), ...WORDS, "--offline"],
  "omp@13.19": () => [bun(), here(`omp/v13/${OMP}`), ...WORDS],
  "omp@18.2": () => [bun(), here(`omp/v182/${OMP}`), ...WORDS],
};
