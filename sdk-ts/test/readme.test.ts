import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";

import type { JsonObject } from "../src/generated/types.js";
import { PATIENCE } from "./support/agent.js";
import { PACKAGE, REPOSITORY, transcript } from "./support/files.js";

const scratch = mkdtempSync(join(tmpdir(), "agentese-readme-"));
after(() => rmSync(scratch, { recursive: true }));

const text = readFileSync(join(PACKAGE, "README.md"), "utf8");
const examples = [...text.matchAll(/^## (.*)$|^```ts\n([\s\S]*?)^```$/gm)].reduce<{ title: string; code: string }[]>(
  (found, [, heading, code]) => {
    const title = heading ?? found.at(-1)?.title ?? "the first example";
    return code === undefined ? [...found, { title, code: "" }] : [...found, { title, code }];
  },
  [],
).filter(({ code }) => code !== "");

/**
 * Examples of the guides for users of other clients. They are compiled but not run, because they start the
 * real agents.
 */
const guides = ["pi", "omp"].flatMap((agent) => {
  const guide = readFileSync(join(REPOSITORY, `docs/migrating-from-${agent}-rpcclient.md`), "utf8");
  return [...guide.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);
});

/**
 * Source of an agent that replaces the real ones. It streams a text, and sends a dialog if the prompt
 * requests one.
 */
const AGENT = `
  import { pi, serve } from "agentese/serve";
  import { stdio } from "agentese/stdio";
  class Agent extends pi.Service {
    prompt({ message }, call) {
      void this.#work(message, call);
    }
    async #work(message, call) {
      await call.emit({ type: "agent_start" });
      if (message === "Ask me.") {
        const answer = await call.ask("confirm", { title: "Read it?", message: "" });
        await call.ask("notify", { message: "confirmed: " + answer?.confirmed });
      }
      await call.emit({ type: "message_update", assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: "Hello." }, message: { role: "assistant", content: [] } });
      await call.emit({ type: "agent_end", messages: [] });
    }
    steer() {}
    getState() { return { sessionId: "the session", isStreaming: false }; }
  }
  await serve(new Agent(), stdio());
`;

before(() => {
  mkdirSync(join(scratch, "node_modules", "@types"), { recursive: true });
  mkdirSync(join(scratch, "bin"));
  symlinkSync(PACKAGE, join(scratch, "node_modules", "agentese"));
  symlinkSync(join(PACKAGE, "node_modules", "@types", "node"), join(scratch, "node_modules", "@types", "node"));
  symlinkSync(join(PACKAGE, "node_modules", "undici-types"), join(scratch, "node_modules", "undici-types"));
  writeFileSync(join(scratch, "agent.mjs"), AGENT);
  for (const name of ["agentese", "pi"]) {
    const shim = join(scratch, "bin", name);
    writeFileSync(shim, `#!/bin/sh\nexec "${process.execPath}" "${join(scratch, "agent.mjs")}"\n`);
    chmodSync(shim, 0o755);
  }
  const options = {
    compilerOptions: { module: "nodenext", target: "es2022", lib: ["es2023", "esnext.disposable"], types: ["node"], strict: true, exactOptionalPropertyTypes: true, outDir: "out", skipLibCheck: true },
  };
  writeFileSync(join(scratch, "tsconfig.json"), JSON.stringify(options));
  examples.forEach(({ code }, index) => writeFileSync(join(scratch, `example${index}.mts`), code));
  guides.forEach((code, index) => writeFileSync(join(scratch, `guide${index}.mts`), code));
});

test("all examples compile", () => {
  assert.equal(examples.length, 7);
  assert.equal(guides.length, 4);
  execFileSync(join(PACKAGE, "node_modules", ".bin", "tsc"), ["-p", scratch], { stdio: ["ignore", "inherit", "inherit"] });
});

/** Expected output of each example that reads no input. */
const PRINTS: [title: string, output: RegExp][] = [
  ["the first example", /^Hello\.$/],
  ["Runs", /^0 messages\nthe session\n$/],
  ["Every case", /^hello\n$/],
  ["Dialogs", /^confirmed: true\n$/],
  ["In a browser", /^$/],
  ["Write an agent", /^$/],
  ["Write an extension", /^$/],
];

/** Returns the output of a compiled example. */
function printed(name: string, input = ""): string {
  return execFileSync(process.execPath, [join(scratch, "out", name)], {
    encoding: "utf8",
    input,
    timeout: PATIENCE,
    env: { ...process.env, PATH: `${join(scratch, "bin")}${delimiter}${process.env["PATH"]}` },
  });
}

/** Returns the name of the compiled example under that heading. */
function compiled(title: string): string {
  return `example${examples.findIndex((example) => example.title === title)}.mjs`;
}

for (const [index, [title, output]] of PRINTS.entries()) {
  test(`${title} runs`, () => {
    assert.equal(examples[index]?.title, title);
    assert.match(printed(`example${index}.mjs`), output);
  });
}

test("In a browser: the page plays a recording", () => {
  const [header, ...records] = transcript("pi", "prompt-text-anthropic").split("\n");
  const from = records.findIndex((record) => record.includes('\\"type\\":\\"prompt\\"'));
  const to = records.findIndex((record) => record.includes('\\"type\\":\\"agent_end\\"'));
  assert.ok(0 < from && from < to);
  const recording = `${[header, ...records.slice(from, to + 1)].join("\n")}\n`;
  const script = `
    globalThis.recording = ${JSON.stringify(recording)};
    const { play } = await import("./${compiled("In a browser")}");
    console.log((await play()).join());
  `;
  writeFileSync(join(scratch, "out", "play.mjs"), script);
  assert.match(printed("play.mjs"), /^agent_start,turn_start,.*message_update,.*agent_end\n$/);
});

test("Write an agent: the parrot repeats a prompt", () => {
  const lines = printed(
    compiled("Write an agent"),
    '{"id":"1","type":"prompt","message":"Hello."}\n{"id":"2","type":"get_last_assistant_text"}\n{"id":"3","type":"prompt","message":""}\n',
  );
  const frames = lines.trim().split("\n").map((line) => JSON.parse(line) as JsonObject);
  const answer = (id: string): JsonObject | undefined => frames.find((frame) => frame["id"] === id);
  assert.equal(answer("1")?.["success"], true, lines);
  assert.deepEqual(answer("2")?.["data"], { text: "Hello." });
  assert.equal(answer("3")?.["error"], "say something");
  const types = frames.map((frame) => frame["type"]);
  assert.ok(types.includes("agent_start") && types.includes("agent_end"), lines);
});
