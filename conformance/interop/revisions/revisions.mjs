// Runs one program of each language with the real pi and omp in two revisions each, and with this
// repository's agent in the same revisions: `revisions.mjs [LANGUAGE…]`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { startModel } from "../agents/model.mjs";
import { PROFILES } from "../agents/profiles.mjs";
import { REAL, WORDS } from "../agents/real.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const TARGET = process.env.CARGO_TARGET_DIR ?? join(ROOT, "target");
const AGENTESE = process.env.AGENTESE ?? join(TARGET, "debug/agentese");
/** Time limit of one program in milliseconds. It is long, because six agents start on a busy machine. */
const LIMIT = 180_000;

const CLIENTS = {
  rust: [join(TARGET, "interop/debug/revisions")],
  python: [process.env.PYTHON ?? join(ROOT, "conformance/interop/.venv/bin/python"), join(ROOT, "conformance/interop/revisions/revisions.py")],
  typescript: [process.execPath, join(ROOT, "conformance/interop/revisions/build/revisions.js")],
};

/**
 * By revision. `ours`: `true` if this repository's agent supports it. `newer`: result of the newest command.
 * `seen`: detected revision, if another revision has the same frames.
 */
const AGENTS = {
  "pi@0.55": { ours: true, newer: "not in pi@0.55" },
  "pi@1.5": { ours: true, newer: "answered" },
  "pi@1.6": { ours: true, newer: "answered", seen: "pi@1.5" },
  "omp@13.19": { ours: true, newer: "not in omp@13.19" },
  "omp@18.2": { ours: false, newer: "answered" },
};

async function speak(client, dialect, command, url) {
  const folder = await mkdtemp(join(tmpdir(), "agentese-revisions-"));
  try {
    const [home, work] = [join(folder, "home"), join(folder, "work")];
    await mkdir(work, { recursive: true });
    for (const [name, content] of Object.entries(PROFILES[dialect].files(url))) {
      await mkdir(dirname(join(home, name)), { recursive: true });
      await writeFile(join(home, name), typeof content === "string" ? content : JSON.stringify(content));
    }
    const env = { PATH: process.env.PATH, HOME: home, TMPDIR: folder, LANG: "C.UTF-8", PI_OFFLINE: "1" };
    const [program, ...before] = client;
    const { stdout } = await promisify(execFile)(program, [...before, dialect, ...command], { cwd: work, env, timeout: LIMIT });
    return JSON.parse(stdout);
  } finally {
    // An agent whose client has ended exits by itself, and may still be writing.
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }
}

const asked = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(CLIENTS);
const model = await startModel();
try {
  for (const [revision, { ours, newer, seen = revision }] of Object.entries(AGENTS)) {
    const [dialect] = revision.split("@");
    const commands = { real: REAL[revision]() };
    if (ours) commands["of this repository"] = [AGENTESE, ...WORDS, "--dialect", revision];
    for (const language of asked) {
      const client = CLIENTS[language] ?? assert.fail(`no language ${language}; known: ${Object.keys(CLIENTS).join(", ")}`);
      for (const [which, command] of Object.entries(commands)) {
        const told = await speak(client, dialect, command, model.url);
        const what = `${language}, ${revision}, ${which}`;
        assert.equal(told.revision, seen, what);
        // The agent may add a text before the prompt.
        assert.match(told.texts[0], /^You said: /, what);
        assert.match(told.texts[1], /^The tool said: /, what);
        assert.deepEqual([told.newer, told.busy, told.odd], [newer, false, []], what);
        console.log(`one client for all revisions: ${what}: ${JSON.stringify(told.texts[1].slice(0, 40))}`);
      }
    }
  }
} finally {
  model.stop();
}
