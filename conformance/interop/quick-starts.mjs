// Extracts the quick starts from the READMEs and runs them: `quick-starts.mjs agentese | pi`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { startModel } from "./agents/model.mjs";
import { PROFILES } from "./agents/profiles.mjs";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TARGET = process.env.TARGET ?? join(ROOT, "target");
const PI = "@mariozechner/pi-coding-agent";

/** Pattern of the agent's command in a quick start. `REAL` replaces it for pi, as the READMEs describe. */
const COMMAND = /\["agentese", "--mode", "rpc", "--provider", "scripted"[^\]]*\]/;
const REAL = '["pi", "--mode", "rpc"]';

const agent = process.argv[2];
const AGENTS = {
  agentese: { bin: join(TARGET, "debug"), change: (code) => code, answers: /^(?=.*What is in this directory\?).{100}/s },
  pi: {
    bin: join(ROOT, "conformance/interop/node_modules/.bin"),
    change: (code) => code.replace(COMMAND, REAL),
    answers: /^You said: What is in this directory\?\n*$/,
  },
};
const { bin, change, answers } = AGENTS[agent] ?? assert.fail(`no agent ${agent}; known: ${Object.keys(AGENTS).join(", ")}`);

/** Returns the first example of a language in a README. */
async function example(readme, language) {
  const text = await readFile(join(ROOT, readme), "utf8");
  const [, code] = text.match(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m")) ?? assert.fail(`${readme} has no ${language}`);
  assert.match(code, COMMAND, `${readme} starts another agent`);
  assert.ok(text.includes(`\`${REAL}\` in`), `${readme} does not say what starts the real pi`);
  return code;
}

/**
 * Returns the command line of the Rust example. The file in sdk-rust equals the README's example and is
 * already compiled. For pi, the example is compiled as a separate crate.
 */
async function rust(scratch) {
  const code = await example("README.md", "rust,no_run");
  const kept = await readFile(join(ROOT, "sdk-rust/examples/quick_start.rs"), "utf8");
  assert.equal(kept.slice(kept.indexOf("use ")), code, "sdk-rust/examples/quick_start.rs is not the README's quick start");
  if (agent === "agentese") {
    // The script `conformance/interop/quick-starts` has built this program.
    return [join(TARGET, "debug/examples/quick_start")];
  }
  const manifest = `[package]
name = "agentese-interop-quick-start"
version = "0.1.0"
edition = "2024"
[workspace]
[dependencies]
agentese = { path = ${JSON.stringify(join(ROOT, "sdk-rust"))} }
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
`;
  await mkdir(join(scratch, "src"));
  await writeFile(join(scratch, "Cargo.toml"), manifest);
  await cp(join(ROOT, "conformance/interop/agents/rust/Cargo.lock"), join(scratch, "Cargo.lock"));
  await writeFile(join(scratch, "src/main.rs"), change(code));
  await run("cargo", ["build", "--quiet", "--manifest-path", join(scratch, "Cargo.toml"), "--target-dir", join(TARGET, "interop")]);
  return [join(TARGET, "interop/debug/agentese-interop-quick-start")];
}

/**
 * Returns a function that compiles a README's TypeScript example, and returns its command line. Other tests check the
 * example's types.
 */
const typescript = (readme) => async (scratch) => {
  const file = join(scratch, "quick-start.mjs");
  const source = join(scratch, "quick-start.ts");
  await writeFile(source, change(await example(readme, "ts")));
  await mkdir(join(scratch, "node_modules"), { recursive: true });
  await symlink(join(ROOT, "sdk-ts"), join(scratch, "node_modules/agentese"));
  await run(join(ROOT, "sdk-ts/node_modules/.bin/esbuild"), [source, `--outfile=${file}`, "--target=node20", "--format=esm", "--log-level=warning"]);
  return [process.execPath, file];
};

async function python(scratch) {
  const interpreter = join(ROOT, "conformance/interop/.venv/bin/python");
  assert.ok(existsSync(interpreter), "no conformance/interop/.venv: `conformance/interop/install` makes it");
  const file = join(scratch, "quick_start.py");
  await writeFile(file, change(await example("sdk-python/README.md", "python")));
  return [interpreter, file];
}

const STARTS = {
  "README.md, Rust": rust,
  "README.md, TypeScript": typescript("README.md"),
  "sdk-ts/README.md": typescript("sdk-ts/README.md"),
  // The tests of the Python package run this example with `agentese`.
  ...(agent === "pi" ? { "sdk-python/README.md": python } : {}),
};

if (agent === "pi") {
  const { version } = JSON.parse(await readFile(join(ROOT, `conformance/interop/node_modules/${PI}/package.json`), "utf8"));
  for (const readme of ["README.md", "sdk-ts/README.md", "sdk-python/README.md"]) {
    const text = await readFile(join(ROOT, readme), "utf8");
    assert.ok(text.includes(`npm install -g ${PI}@${version}`), `${readme} installs another pi than this one`);
  }
}

const model = await startModel();
try {
  for (const [name, prepare] of Object.entries(STARTS)) {
    const scratch = await mkdtemp(join(tmpdir(), "agentese-quick-start-"));
    try {
      const words = await prepare(scratch);
      // Home directory that configures only the model on loopback.
      const home = join(scratch, "home");
      const files = PROFILES.pi.files(model.url);
      files[".pi/agent/settings.json"] = { defaultProvider: "loopback", defaultModel: "one" };
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(home, path)), { recursive: true });
        await writeFile(join(home, path), JSON.stringify(content));
      }
      const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home, LANG: "C.UTF-8", PI_OFFLINE: "1" };
      const { stdout } = await run(words[0], words.slice(1), { cwd: home, env, timeout: 60_000, killSignal: "SIGKILL" });
      assert.match(stdout, answers, `${name} printed: ${stdout}`);
      console.log(`quick start with ${agent}: ${name} printed the ${stdout.length} characters of the answer`);
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
} finally {
  model.stop();
}
