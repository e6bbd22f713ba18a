import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

import { PACKAGE, REPOSITORY, readText } from "./support/files.js";

/**
 * Maximum size of a client, minified and compressed, in bytes. The required parts of a client take these
 * shares:
 * - 2 KiB: the patterns of keys, and the texts of documented failures;
 * - 1 KiB: the detection of revisions, and the commands that they lack;
 * - 0.5 KiB: the recognition of the long strings of a growing answer, which makes reading them 1.4 times as fast;
 * - 0.25 KiB: the removal of the rest of an event with a key, also if the agent is of another dialect;
 * - 0.25 KiB: the detection of keys behind escapes;
 * - 1.5 KiB: failures of calls and runs that would otherwise wait without end: for an agent of another
 *   dialect, for unreadable responses and last events, and after unsuitable answers of handlers;
 * - 1.25 KiB: failures of runs whose agent has ended or ignores an abort, and of runs that reached a limit.
 */
const BUDGET = 20 * 1024;

/** Number of additional bytes for omp, which has three revisions and reassembles chunked frames. */
const OMP_MORE = 1536;

const scratch = mkdtempSync(join(tmpdir(), "agentese-package-"));
after(() => rmSync(scratch, { recursive: true }));

function run(program: string, args: string[], cwd = scratch): string {
  return execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs a tool from the package's own dependencies. */
function tool(name: string, args: string[], cwd = scratch): string {
  const path = join(PACKAGE, "node_modules", ".bin", name);
  try {
    return run(path, args, cwd);
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${name} ${args.join(" ")}\n${stdout}${stderr}`, { cause: error });
  }
}

before(() => {
  // Installs the package as a consumer does.
  run("npm", ["pack", "--silent", "--pack-destination", scratch], PACKAGE);
  const folder = join(scratch, "node_modules", "agentese");
  mkdirSync(folder, { recursive: true });
  run("tar", ["-xzf", "agentese-0.1.0.tgz", "-C", folder, "--strip-components=1"]);
  symlinkSync(join(PACKAGE, "node_modules", "@types"), join(scratch, "node_modules", "@types"));
  symlinkSync(join(PACKAGE, "node_modules", "undici-types"), join(scratch, "node_modules", "undici-types"));
});

function write(name: string, text: string): string {
  writeFileSync(join(scratch, name), text);
  return name;
}

test("the package contains exactly its files and licences", () => {
  const folder = join(scratch, "node_modules", "agentese");
  assert.deepEqual(readdirSync(folder).sort(), ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "dist", "package.json"]);
  for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) {
    assert.equal(readFileSync(join(folder, name), "utf8"), readText(name), `${name} differs from the repository's`);
  }
  const files = readdirSync(join(folder, "dist"), { recursive: true, encoding: "utf8" }).filter((name) => /\.\w+$/.test(name));
  assert.deepEqual(files.filter((name) => !/\.(js|d\.ts)$/.test(name)), []);
});

test("publint finds nothing", () => {
  tool("publint", [".", "--strict"], join(scratch, "node_modules", "agentese"));
});

test("the types are found where the code is", () => {
  tool("attw", [join(scratch, "agentese-0.1.0.tgz"), "--profile", "esm-only", "--no-definitely-typed", "--format", "ascii"]);
});

test(`Node ${process.version} imports every entry`, () => {
  const script = write(
    "esm.mjs",
    `import { pi, TimedOutError } from "agentese"; import { spawn } from "agentese/stdio";
     import { serve } from "agentese/serve"; import { replay } from "agentese/testing"; import { check } from "agentese/check";
     import { Extension } from "agentese/extension"; import { connect } from "agentese/any";
     console.log([pi.Client, TimedOutError, spawn, serve, replay, check, Extension, connect].map((each) => typeof each).join());`,
  );
  assert.equal(run(process.execPath, [script]).trim(), Array(8).fill("function").join());
});

test(`Node ${process.version} requires every entry`, () => {
  const script = write(
    "cjs.cjs",
    `const { pi } = require("agentese"); const { spawn } = require("agentese/stdio"); const { serve } = require("agentese/serve");
     const { replay } = require("agentese/testing"); const { check } = require("agentese/check");
     const { Extension } = require("agentese/extension");
     console.log([pi.Client, spawn, serve, replay, check, Extension].map((each) => typeof each).join());`,
  );
  assert.equal(run(process.execPath, [script]).trim(), Array(6).fill("function").join());
});

const CONSUMER = `
  import { pi, type Transport, match } from "agentese";
  export async function text(transport: Transport): Promise<string> {
    await using client = new pi.Client(transport);
    let text = "";
    for await (const event of await client.prompt({ message: "hello" })) {
      if (event.type !== "message_update") continue;
      text += match(event.assistantMessageEvent, {
        start: () => "", text_start: () => "", text_delta: (kind) => kind.delta, text_end: () => "",
        thinking_start: () => "", thinking_delta: () => "", thinking_end: () => "",
        toolcall_start: () => "", toolcall_delta: () => "", toolcall_end: () => "",
        done: () => "", error: () => "", _: () => "",
      });
    }
    return text;
  }
`;

for (const [name, options, source] of [
  ["nodenext", ["--module", "nodenext", "--types", "node", "--lib", "es2023"], `${CONSUMER} import { spawn } from "agentese/stdio"; export const started = spawn(pi.Client, ["pi"]);`],
  ["bundler", ["--module", "esnext", "--moduleResolution", "bundler", "--types", "", "--lib", "es2023,dom"], CONSUMER],
] as const) {
  test(`TypeScript takes the published types: ${name}`, () => {
    const file = write(`${name}.mts`, source);
    tool("tsc", ["--strict", "--noEmit", "--target", "es2023", "--exactOptionalPropertyTypes", ...options, file]);
  });
}

/** Source of an extension as a third party writes it. */
const EXTENSION = `
  import { Extension, type JsonObject, type ToolCallAnswer } from "agentese/extension";
  const extension = new Extension();
  const guard = (input: JsonObject): ToolCallAnswer => ({ block: input["command"] === "rm" });
  extension.on("tool_call", ({ input }) => guard(input));
  await extension.run();
`;

for (const module of ["nodenext", "node20"]) {
  test(`TypeScript takes the types of extensions: ${module}`, () => {
    const file = write(`extension-${module}.mts`, EXTENSION);
    const options = ["--module", module, "--types", "node", "--lib", "es2023", "--exactOptionalPropertyTypes"];
    tool("tsc", ["--strict", "--noEmit", "--target", "es2023", ...options, file]);
  });
}

test("the example extensions compile", () => {
  const folder = join(scratch, "extensions");
  const own = (name: string): boolean => !/node_modules|\.js$/.test(name);
  cpSync(join(REPOSITORY, "extensions", "examples", "typescript"), folder, { recursive: true, filter: own });
  tool("tsc", ["-p", folder]);
  for (const name of readdirSync(folder).filter((name) => !name.includes(".") && name !== "node_modules")) {
    const { runtime, entry } = JSON.parse(readFileSync(join(folder, name, "extension.json"), "utf8")) as Record<string, string>;
    assert.equal(runtime, "node");
    assert.match(readFileSync(join(folder, name, entry ?? ""), "utf8"), /new Extension\(/);
  }
});

test("the library for extensions is one file that needs Node alone", async () => {
  const { bytes, inputs } = await bundle(`import { Extension } from "agentese/extension"; new Extension();`, "node");
  const others = inputs.filter((path) => !path.startsWith("node:")).map((path) => path.replace(/.*node_modules/, ""));
  assert.deepEqual(others, ["/agentese/dist/extension.js"]);
  console.log(`extension: ${bytes.length} bytes minified`);
});

async function bundle(contents: string, platform: "browser" | "node"): Promise<{ bytes: Uint8Array; inputs: string[] }> {
  const result = await build({
    stdin: { contents, resolveDir: scratch, loader: "ts" },
    bundle: true,
    minify: true,
    format: "esm",
    platform,
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const inputs = Object.values(result.metafile.inputs).flatMap((input) => input.imports.map((found) => found.path));
  return { bytes: result.outputFiles[0]?.contents ?? new Uint8Array(), inputs };
}

for (const dialect of ["pi", "omp", "pisces", "operator", "opal"]) {
  test(`the ${dialect} client fits the budget, without anything of Node`, async () => {
    // The bundle is for a browser: an import of a Node module would fail.
    const { bytes, inputs } = await bundle(`import { ${dialect} } from "agentese"; (globalThis as any).client = ${dialect}.Client;`, "browser");
    const size = gzipSync(bytes, { level: 9 }).length;
    console.log(`${dialect}: ${bytes.length} bytes minified, ${size} compressed`);
    const budget = dialect === "omp" ? BUDGET + OMP_MORE : BUDGET;
    assert.ok(size <= budget, `${size} bytes are more than ${budget}`);
    assert.ok(!inputs.some((path) => path.startsWith("node:")));
  });
}

test("Vite builds a page from the published package", () => {
  const page = join(scratch, "page");
  mkdirSync(page);
  writeFileSync(join(page, "index.html"), '<script type="module" src="./main.ts"></script>');
  writeFileSync(join(page, "main.ts"), 'import { pi } from "agentese"; Object.assign(globalThis, { client: pi.Client });');
  tool("vite", ["build", "--logLevel", "warn"], page);
  const [script = ""] = readdirSync(join(page, "dist", "assets"));
  const size = gzipSync(readFileSync(join(page, "dist", "assets", script)), { level: 9 }).length;
  assert.ok(size > 5000 && size <= BUDGET, `${script} has ${size} bytes compressed`);
});

test("types cost nothing", async () => {
  const { bytes } = await bundle(`import type { pi } from "agentese"; export const kind: pi.Event["type"] = "agent_end";`, "browser");
  assert.ok(bytes.length < 60, `${bytes.length} bytes`);
});

test("esbuild bundles everything for Node, and it runs", async () => {
  const { bytes } = await bundle(
    `import { pi } from "agentese"; import { spawn } from "agentese/stdio"; import { memoryPair, replay } from "agentese/testing";
     import { serve, pi as agent } from "agentese/serve";
     const [ours, theirs] = memoryPair();
     serve(new (class extends agent.Service { getLastAssistantText() { return { text: "bundled" }; } })(), theirs);
     const client = new pi.Client(ours);
     console.log((await client.getLastAssistantText()).text, typeof spawn, typeof replay);
     await client.close();`,
    "node",
  );
  writeFileSync(join(scratch, "bundle.mjs"), bytes);
  assert.equal(run(process.execPath, ["bundle.mjs"]).trim(), "bundled function function");
});
