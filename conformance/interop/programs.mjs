// Runs the example programs against the real pi: `programs.mjs [LANGUAGE…]`. Two of the eight programs start
// no agent: the custom agent and the replay. The tests of their packages cover them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { startModel } from "./agents/model.mjs";
import { PROFILES } from "./agents/profiles.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TARGET = process.env.TARGET ?? join(ROOT, "target");
const CLI = join(ROOT, "conformance/interop/node_modules/@mariozechner/pi-coding-agent/dist/cli.js");
const PYTHON = process.env.PYTHON ?? join(ROOT, "conformance/interop/.venv/bin/python");
const PI = [process.execPath, CLI, "--mode", "rpc", "--offline", "--model", "loopback/one"];
/** Time limit of every wait in milliseconds. It is long, because ten agents start at once. */
const LIMIT = 120_000;

/**
 * By language: the command line of an example program, and the input for its questions. Input is a text, or
 * the number of an option.
 */
const LANGUAGES = {
  rust: { start: (name) => [join(TARGET, "debug/examples", name)], answers: "green\nyes\nmine\n" },
  python: { start: (name) => [PYTHON, "-u", join(ROOT, "sdk-python/examples", `${name}.py`)], answers: "2\ny\nmine\n", words: ["/dialogs"] },
  typescript: { start: (name) => [process.execPath, join(ROOT, "sdk-ts/build/examples", `${name}.js`)], answers: "green\nyes\nmine\n" },
};

/** Example program in a home directory of its own. */
class Program {
  #said = "";
  #ended = false;

  constructor(words, home) {
    const env = { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8", PI_OFFLINE: "1" };
    this.child = spawn(words[0], words.slice(1), { cwd: home, env, stdio: ["pipe", "pipe", "inherit"] });
    this.child.stdout.setEncoding("utf8").on("data", (text) => (this.#said += text));
    this.child.stdin.on("error", () => undefined);
    this.exit = once(this.child, "close").then(([code]) => ((this.#ended = true), code));
  }

  say(text) {
    this.child.stdin.write(text);
  }

  /** Waits until a pattern matches the output. Discards the output up to the end of the match. */
  async until(pattern) {
    const deadline = Date.now() + LIMIT;
    for (;;) {
      const found = this.#said.match(pattern);
      if (found) {
        this.#said = this.#said.slice(found.index + found[0].length);
        return found;
      }
      assert.ok(!this.#ended && Date.now() < deadline, `${pattern} is not in ${JSON.stringify(this.#said)}`);
      await pause(10);
    }
  }

  /** Closes stdin, waits for the exit with this code, and returns the remaining output. */
  async end(code = 0) {
    this.child.stdin.end();
    const late = setTimeout(() => this.kill(), LIMIT);
    assert.equal(await this.exit, code, this.#said);
    clearTimeout(late);
    return this.#said;
  }

  kill() {
    this.child.kill("SIGKILL");
  }
}

const CHECKS = {
  async streaming({ run }) {
    const said = await run("streaming", ["--no-session"]).end();
    assert.match(said, /You said: What is in this directory\?/);
    return "an answer";
  },

  async dialogs({ run, answers, words = [] }) {
    const program = run("dialogs", ["--no-session", "-e", join(ROOT, "conformance/interop/dialogs.ts")], words);
    program.say(answers);
    // The Rust program has no handler for this question, so the question is dismissed.
    const [, name] = await program.until(/colour green, true, (\w+)/);
    await program.end();
    return `three dialogs, the last one ${name === "mine" ? "answered" : "dismissed"}`;
  },

  async ten_at_once({ run }) {
    const said = await run("ten_at_once", ["--no-session"]).end();
    const answers = said.match(/^\d: .*$/gm) ?? [];
    const [, stopped] = said.match(/(\d+)(?: were)? (?:stopped|cancelled)/) ?? assert.fail(said);
    // An answer that arrives while the other agents are cancelled is counted as neither.
    assert.ok(answers.length >= 3 && Number(stopped) >= 1 && answers.length + Number(stopped) <= 10, said);
    return `${answers.length} answers`;
  },

  async supervisor({ run, language, home }) {
    const program = run("supervisor", []);
    if (language === "python") {
      program.say("Remember this.\n");
      const [, first] = await program.until(/(\d+): '[^\n]*\n/);
      process.kill(Number(first), "SIGKILL");
      program.say("And this.\n");
      program.child.stdin.end();
      await program.until(/restarting: [^\n]*SIGKILL/);
      const [, second] = await program.until(/\n(\d+): '[^\n]*\n/);
      assert.notEqual(first, second);
      await program.until(/\b4 messages/);
    } else {
      const [, first] = await program.until(/attempt 1: process (\d+) works/);
      process.kill(Number(first), "SIGKILL");
      await program.until(/attempt 1: [^\n]*SIGKILL/);
      await program.until(/attempt 2: process \d+ works/);
      await program.until(/done[^\n]*: You said: You were interrupted/);
    }
    await program.end();
    assert.ok(await sessions(home), "a session is kept");
    return "went on after a kill";
  },

  async sse({ run }) {
    const program = run("sse", ["--no-session"]);
    const [, address] = await program.until(/(http:\/\/\S+)\n/);
    const answer = await fetch(address.includes("?") ? address : `${address}/Hello?message=Hello`);
    const events = [...(await answer.text()).matchAll(/event: (\w+)\ndata: (.*)\n\n/g)];
    assert.equal(events.at(0)?.[1], "agent_start");
    assert.equal(events.at(-1)?.[1], "agent_end");
    for (const [, type, data] of events) assert.equal(JSON.parse(data).type, type);
    program.kill();
    await program.exit;
    return `${events.length} events`;
  },

  async ctrl_c({ run, language }) {
    const program = run("ctrl_c", ["--no-session"]);
    program.say("speak slowly\n");
    // The Rust program prints only complete messages.
    await program.until(language === "rust" ? /Ctrl-C stops this/ : /word 1 /);
    program.child.kill("SIGINT");
    await program.until(/[([]stopped[)\]]/);
    program.say("And now?\n");
    await program.until(/You said: And now\?/);
    await program.end();
    return "one run stopped, one answered";
  },
};

/** Returns true if the home contains a session that is not empty. */
async function sessions(home) {
  const files = await readdir(join(home, ".pi/agent/sessions"), { recursive: true });
  const sizes = await Promise.all(files.filter((name) => name.endsWith(".jsonl")).map(async (name) => (await stat(join(home, ".pi/agent/sessions", name))).size));
  return sizes.some((size) => size > 0);
}

assert.ok(existsSync(CLI), "the real pi is not installed: `conformance/interop/install` installs it");
const asked = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(LANGUAGES);
const model = await startModel();
try {
  for (const language of asked) {
    const { start, ...rest } = LANGUAGES[language] ?? assert.fail(`no language ${language}; known: ${Object.keys(LANGUAGES).join(", ")}`);
    for (const [name, check] of Object.entries(CHECKS)) {
      const home = await mkdtemp(join(tmpdir(), "agentese-program-"));
      const programs = [];
      const run = (example, more, before = []) => {
        programs.push(new Program([...start(example), ...before, ...PI, ...more], home));
        return programs.at(-1);
      };
      try {
        for (const [path, content] of Object.entries(PROFILES.pi.files(model.url))) {
          await mkdir(dirname(join(home, path)), { recursive: true });
          await writeFile(join(home, path), JSON.stringify(content));
        }
        console.log(`example with pi: ${language}, ${name}: ${await check({ run, language, home, ...rest })}`);
      } finally {
        for (const program of programs) {
          program.kill();
          await program.exit;
        }
        // An agent whose client has ended exits by itself, and may still be writing.
        await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
      }
    }
  }
} finally {
  model.stop();
}
