// Loads each of pi's own example extensions, and writes the table of docs/pi-extensions.md.
//
//   node scripts/examples.mjs PACKAGE           writes; PACKAGE is a folder with @mariozechner/pi-coding-agent
//   node scripts/examples.mjs PACKAGE --check   fails if the table in the page differs

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build } from "esbuild";

import { embedded } from "./build.mjs";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
export const page = join(here, "../../docs/pi-extensions.md");
const BEGIN = "<!-- written by extensions/pi-host/scripts/examples.mjs -->";
const END = "<!-- end of what is written -->";
/** Unsupported functions that extensions use without an import by name, with a pattern for each. */
const USES = [
  ["`pi.registerProvider()`", /\bpi\.registerProvider\(/],
  ["`ctx.modelRegistry.getApiKey()`", /modelRegistry\.getApiKey\w*\(/],
  ["`ctx.navigateTree()`", /\.navigateTree\(/],
  ["`ctx.reload()`", /ctx\.reload\(/],
  ["the program `pi`, which it runs", /spawn\("pi"/],
  ["`ctx.newSession({ setup })`", /newSession\(\{[^}]*\bsetup\b/],
];
/** Packages and classes whose output appears only in a terminal, in pi as well. */
const DRAWN = ["@mariozechner/pi-tui"];
const DRAWN_CLASSES = /^(DynamicBorder|BorderedLoader|CustomEditor|\w+Component)$/;

/** Returns the example extensions of a package. Each is a file, or a folder with an index file. */
function examples(folder) {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      if (name.endsWith(".ts")) return [{ name, file: join(folder, name), sources: [join(folder, name)] }];
      const file = join(folder, name, "index.ts");
      if (!existsSync(file)) return [];
      const beside = readdirSync(join(folder, name)).filter((other) => other.endsWith(".ts") && other !== "test.ts");
      return [{ name: `${name}/`, file, sources: beside.map((other) => join(folder, name, other)) }];
    });
}

/** Loads an extension; returns the error, or `undefined` if it loads. */
async function load(file) {
  const cwd = mkdtempSync(join(tmpdir(), "agentese-pi-examples-"));
  const child = spawn(process.execPath, [join(embedded, "agentese-pi-host.mjs")], { cwd, stdio: ["pipe", "pipe", "ignore"] });
  const limit = setTimeout(() => child.kill("SIGKILL"), 60_000);
  try {
    let text = "";
    const answered = (async () => {
      for await (const chunk of child.stdout.setEncoding("utf8")) {
        text += chunk;
        for (const line of text.split("\n").slice(0, -1)) {
          const frame = JSON.parse(line);
          if (frame.type === "response") return frame.error ?? frame.result.extensions[0].error;
        }
      }
      throw new Error(`the host gave no answer for ${file}`);
    })();
    const frame = { type: "initialize", id: "1", protocol: 1, agentVersion: "0", mode: "rpc", hasUI: true };
    child.stdin.write(`${JSON.stringify({ ...frame, cwd, agentDir: join(cwd, "agent"), extensions: [file] })}\n`);
    return await answered;
  } finally {
    clearTimeout(limit);
    const ended = new Promise((resolve) => child.on("close", resolve));
    child.kill("SIGKILL");
    await ended;
    rmSync(cwd, { recursive: true });
  }
}

/** Returns the names that the host provides from each of pi's packages. */
async function supported() {
  const folder = mkdtempSync(join(tmpdir(), "agentese-pi-modules-"));
  try {
    const outfile = join(folder, "modules.cjs");
    await build({
      absWorkingDir: here, entryPoints: ["src/modules/index.ts"], bundle: true, platform: "node", format: "cjs", outfile,
      logLevel: "error",
    });
    const { modules } = await import(pathToFileURL(outfile).href);
    return modules({ agent: {}, models: [] });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the functions that the sources use and the host does not support. */
function missing(sources, modules) {
  const found = new Set();
  for (const file of sources) {
    const text = readFileSync(file, "utf8");
    for (const [, types, names, from] of text.matchAll(/import\s+(type\s+)?\{([^}]*)\}\s+from\s+"([^"]+)"/g)) {
      if (types !== undefined || !from.startsWith("@mariozechner/") || DRAWN.includes(from)) continue;
      for (const name of names.split(",").map((part) => part.trim().split(" as ")[0])) {
        if (name === "" || name.startsWith("type ") || DRAWN_CLASSES.test(name)) continue;
        if (!Object.keys(modules[from] ?? {}).includes(name)) found.add(`\`${name}\``);
      }
    }
    for (const [name, pattern] of USES) if (pattern.test(text)) found.add(name);
  }
  return [...found];
}

/** Formats a text for a cell of the table. */
function cell(text) {
  return text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ");
}

/** Returns the table in Markdown. */
async function table(root) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const modules = await supported();
  const rows = [];
  for (const { name, file, sources } of examples(join(root, "examples/extensions"))) {
    const error = await load(file);
    const misses = missing(sources, modules);
    const drawn = sources.some((source) => /\.ui\.custom(<[^(]*>)?\(/.test(readFileSync(source, "utf8")));
    const absent = /Cannot find module '([^']+)'/.exec(error ?? "");
    if (absent !== null) misses.push(`the package \`${absent[1]}\`, which its folder has to have installed`);
    if (error !== undefined && misses.length === 0) misses.push(error.split("\n")[0]);
    rows.push({ name, loads: error === undefined, misses, drawn });
  }
  const loaded = rows.filter(({ loads }) => loads).length;
  const whole = rows.filter(({ loads, misses }) => loads && misses.length === 0).length;
  const lines = rows.map(({ name, loads, misses, drawn }) => {
    const notes = [...misses, ...(drawn ? ["draws in a terminal: `ctx.ui.custom()` gives undefined"] : [])];
    return `| ${[name, loads ? "yes" : "no", notes.join("; ")].map(cell).join(" | ")} |`;
  });
  return [
    `Of the ${rows.length} examples of version ${version}, ${loaded} load; ${whole} of them use nothing that is not supported.`,
    "",
    "| example | loads | what it misses |",
    "|---|---|---|",
    ...lines,
  ].join("\n");
}

async function main() {
  const [root, option] = process.argv.slice(2);
  if (root === undefined || !statSync(root).isDirectory()) throw new Error("usage: examples.mjs PACKAGE [--check]");
  const text = readFileSync(page, "utf8");
  const [before, rest] = text.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`${page} has no place for the table`);
  const written = `${before}${BEGIN}\n\n${await table(root)}\n\n${END}${after}`;
  if (option !== "--check") return writeFileSync(page, written);
  if (written === text) return;
  throw new Error(`the table in ${page} is another one; mend with: node scripts/examples.mjs ${root}`);
}

await main();
