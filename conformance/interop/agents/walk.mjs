// Lets the clients of all languages walk every command of an agent:
// `walk.mjs [--languages rust,python,typescript] [--write FILE] AGENT…`.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { startModel } from "./model.mjs";
import { PROFILES } from "./profiles.mjs";

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const MODEL = path("../../../protocol/model.json");
const declaration = JSON.parse(await readFile(MODEL, "utf8"));

/** Returns the declaration of the revision that an agent speaks. */
function declared({ dialect, revision }) {
  return declaration.dialects.find((each) => each.name === dialect && each.revision === revision);
}

/** Time limit of one walk in milliseconds. */
const LIMIT = 240_000;

const DRIVERS = {
  Rust: [process.env.WALK_RUST],
  Python: [process.env.WALK_PYTHON, path("python/walk.py")],
  TypeScript: [process.execPath, path("typescript/build/walk.js")],
};

/** Runs a driver in its own home and returns its output. */
async function walk(profile, driver) {
  const model = await startModel();
  const folder = await mkdtemp(join(tmpdir(), "agentese-walk-"));
  try {
    const home = join(folder, "home");
    const work = join(folder, "work");
    await mkdir(work, { recursive: true });
    for (const [name, content] of Object.entries(profile.files(model.url))) {
      await mkdir(dirname(join(home, name)), { recursive: true });
      await writeFile(join(home, name), typeof content === "string" ? content : JSON.stringify(content));
    }
    // The environment of the caller is not inherited, so that no keys and settings of the user
    // have an effect.
    const env = { PATH: process.env.PATH, HOME: home, TMPDIR: folder, TZ: "UTC", LANG: "C.UTF-8", SHELL: "/bin/bash", PI_OFFLINE: "1", WALK_MODEL: MODEL, WALK_REVISION: profile.revision };
    if (profile.extensions) env.WALK_EXTENSIONS = "1";
    const child = spawn(driver[0], [...driver.slice(1), profile.dialect, ...profile.command], {
      cwd: work,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const errors = [];
    child.stderr.on("data", (data) => errors.push(data));
    const ended = new Promise((resolve, reject) => child.on("error", reject).on("close", (code, signal) => resolve(code ?? signal)));
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), LIMIT);
    const steps = [];
    let end;
    for await (const line of createInterface({ input: child.stdout })) {
      const told = JSON.parse(line);
      if (told.command === undefined) end = told;
      else steps.push(told);
    }
    const code = await ended;
    clearTimeout(timer);
    return { steps, end, code, errors: Buffer.concat(errors).toString("utf8") };
  } finally {
    model.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns descriptions of the problems in the output of a walk. */
function problems(profile, { steps, end, code, errors }) {
  const commands = declared(profile).commands.map(({ name }) => name);
  const walked = steps.map(({ command }) => command).filter((name) => !name.startsWith("("));
  const found = steps.filter(({ ok }) => !ok).map(({ command, got }) => `${command}: ${got}`);
  found.push(...commands.filter((name) => !walked.includes(name)).map((name) => `${name}: not walked`));
  found.push(...walked.filter((name) => !commands.includes(name)).map((name) => `${name}: not declared`));
  if (code !== 0 || end === undefined) found.push(`the driver ended with ${code}: ${errors.slice(-2000)}`);
  const intended = (name) => name.split(" ").at(-1) in (profile.unknown ?? {});
  found.push(...(end?.unknown ?? []).filter((name) => !intended(name)).map((name) => `unknown: ${name}`));
  found.push(...(end?.misfits ?? []).map((misfit) => `does not fit: ${misfit}`));
  return found;
}

/** Returns the commands whose results differ between languages. */
function differences(walks) {
  const [first, ...others] = Object.entries(walks);
  return others.flatMap(([language, { steps }]) =>
    steps.flatMap(({ command, ok, got }) => {
      const there = first[1].steps.find((step) => step.command === command);
      return !ok || there?.got === got ? [] : [`${command}: ${language} got ${got}, ${first[0]} got ${there?.got}`];
    }),
  );
}

const cell = (text) => String(text).replaceAll("|", "\\|").replaceAll("\n", " ");

/** Returns the table of an agent: a row for every command, a column for every language. */
function table(walks) {
  const languages = Object.keys(walks);
  const [first] = Object.values(walks);
  const rows = first.steps.map(({ command, got }) => {
    const results = languages.map((language) => {
      const step = walks[language].steps.find((step) => step.command === command);
      if (step === undefined) return "–";
      if (!step.ok) return "fails";
      return step.got === got ? "ok" : cell(step.got);
    });
    return `| ${command.startsWith("(") ? command.slice(1, -1) : `\`${command}\``} | ${results.join(" | ")} | ${cell(got)} |`;
  });
  return [`| command | ${languages.join(" | ")} | what it got |`, `|---|${"---|".repeat(languages.length)}---|`, ...rows].join("\n");
}

function eventsOf(profile, walks) {
  const events = declared(profile).events.map(({ name }) => name);
  const seen = (name) => Object.values(walks).every(({ end }) => (end?.events[name] ?? 0) > 0);
  const missing = events.filter((name) => !seen(name));
  const all = `${events.length - missing.length} of the ${events.length} declared events came in every language`;
  return missing.length === 0 ? `${all}.` : `${all}; not provoked: ${missing.map((name) => `\`${name}\``).join(", ")}.`;
}

async function versionOf(profile) {
  if (profile.package === undefined) return "of this repository";
  const manifest = JSON.parse(await readFile(path(`../node_modules/${profile.package}/package.json`), "utf8"));
  return `${manifest.name} ${manifest.version}`;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { languages: { type: "string", default: Object.keys(DRIVERS).join() }, write: { type: "string" } },
});
const languages = Object.keys(DRIVERS).filter((name) => values.languages.toLowerCase().split(",").includes(name.toLowerCase()));
let failed = false;
const sections = [];
for (const agent of positionals) {
  const profile = PROFILES[agent];
  if (profile === undefined) throw new Error(`no agent ${agent}; known: ${Object.keys(PROFILES).join(", ")}`);
  const walks = {};
  for (const language of languages) {
    walks[language] = await walk(profile, DRIVERS[language]);
    const found = problems(profile, walks[language]);
    failed ||= found.length > 0;
    const { steps, end } = walks[language];
    const count = Object.values(end?.events ?? {}).reduce((sum, each) => sum + each, 0);
    console.log(`${agent}, ${language}: ${steps.filter(({ ok }) => ok).length} of ${steps.length} steps, ${count} events`);
    for (const problem of found) console.log(`  ${problem}`);
  }
  for (const difference of differences(walks)) {
    failed = true;
    console.log(`  ${difference}`);
  }
  const unknown = Object.entries(profile.unknown ?? {}).map(([name, why]) => `Unknown by intent: \`${name}\`, ${why}.`);
  sections.push([`## ${profile.title}: ${await versionOf(profile)}`, table(walks), [eventsOf(profile, walks), ...unknown].join(" ")].join("\n\n"));
}
console.log(`\n${sections.join("\n\n")}`);
if (values.write) {
  // The tables follow this line at the end of the document.
  const mark = "<!-- conformance/interop/agents/run writes what follows -->";
  const [head] = (await readFile(values.write, "utf8")).split(mark);
  await writeFile(values.write, `${head}${mark}\n\n${sections.join("\n\n")}\n`);
}
process.exitCode = failed ? 1 : 0;
