import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";

import { PACKAGE } from "./support/files.js";

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

/** An agent in place of the real ones: streams a text, and asks where it is told to. */
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
});

test("all examples compile", () => {
  assert.equal(examples.length, 6);
  execFileSync(join(PACKAGE, "node_modules", ".bin", "tsc"), ["-p", scratch], { stdio: ["ignore", "inherit", "inherit"] });
});

/** What each example prints. */
const PRINTS: [title: string, output: RegExp][] = [
  ["the first example", /^Hello\.$/],
  ["Runs", /^0 messages\nthe session\n$/],
  ["Exhaustive by choice", /^hello\n$/],
  ["Questions of the agent", /^confirmed: true\n$/],
  ["In a browser", /^$/],
  ["Be an agent", /^$/],
];

for (const [index, [title, output]] of PRINTS.entries()) {
  test(`${title} runs`, () => {
    assert.equal(examples[index]?.title, title);
    const printed = execFileSync(process.execPath, [join(scratch, "out", `example${index}.mjs`)], {
      encoding: "utf8",
      input: "",
      timeout: 20_000,
      env: { ...process.env, PATH: `${join(scratch, "bin")}${delimiter}${process.env["PATH"]}` },
    });
    assert.match(printed, output);
  });
}
