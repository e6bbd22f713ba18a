import assert from "node:assert/strict";
import { test } from "node:test";

import type { InitializeResult } from "../src/protocol.js";
import { TestAgent, extension } from "./support/agent.js";

test("an extension reports its registrations", async (t) => {
  const agent = new TestAgent(t, {
    "a.ts": extension(
      `pi.registerCommand("hello", { description: "Says hello", handler: async () => {} });
       pi.registerCommand("bare", { handler: async () => {} });
       pi.registerTool({ name: "dice", label: "Dice", description: "Rolls", promptSnippet: "roll", promptGuidelines: ["never in your head"],
         parameters: Type.Object({ sides: Type.Optional(Type.Number()), kind: StringEnum(["a", "b"]) }), execute: async () => ({}) });
       pi.registerFlag("plan", { description: "Plans", type: "boolean", default: true });
       pi.registerShortcut(Key.ctrlAlt("p"), { handler: () => {} });
       pi.registerMessageRenderer("note", () => undefined);
       pi.on("tool_call", () => {}); pi.on("tool_call", () => {}); pi.on("turn_end", () => {});`,
      `import { Type } from "@sinclair/typebox"; import { StringEnum } from "@mariozechner/pi-ai"; import { Key } from "@mariozechner/pi-tui";`,
    ),
  });
  const { protocol, extensions, watch } = await agent.initialize("a.ts");
  assert.equal(protocol, 1);
  assert.deepEqual(watch, ["state", "entries"]);
  assert.deepEqual(extensions, [
    {
      path: agent.path("a.ts"),
      events: ["tool_call", "turn_end"],
      commands: [{ name: "hello", description: "Says hello" }, { name: "bare" }],
      tools: [
        {
          name: "dice",
          label: "Dice",
          description: "Rolls",
          promptSnippet: "roll",
          promptGuidelines: ["never in your head"],
          parameters: {
            type: "object",
            properties: { sides: { type: "number" }, kind: { type: "string", enum: ["a", "b"] } },
            required: ["kind"],
          },
        },
      ],
      flags: [{ name: "plan", kind: "boolean", description: "Plans", default: true }],
    },
  ]);
});

test("an extension that does not load does not prevent others from loading", async (t) => {
  const agent = new TestAgent(t, {
    "throws.ts": extension(`throw new Error("load failed");`),
    "rejects.ts": "export default async () => { throw 'only words'; }",
    "syntax.ts": "export default function (pi { }",
    "nothing.ts": "export const x = 1;",
    "import.ts": `import "no-such-package"; export default () => {};`,
    "acts.ts": extension(`pi.sendMessage({ customType: "a", content: "b", display: true });`),
    "good.ts": extension(`pi.registerCommand("good", { handler: async () => {} });`),
  });
  const { extensions } = await agent.initialize(
    "throws.ts", "rejects.ts", "syntax.ts", "nothing.ts", "import.ts", "acts.ts", "missing.ts", "good.ts",
  );
  const errors = extensions.map(({ error }) => error);
  assert.equal(errors[0], "load failed");
  assert.equal(errors[1], "only words");
  assert.match(errors[2] ?? "", /syntax\.ts|Unexpected token/);
  assert.equal(errors[3], "it does not export a function as its default");
  assert.match(errors[4] ?? "", /no-such-package/);
  assert.equal(errors[5], "pi.sendMessage() cannot be called while extensions are being loaded");
  assert.match(errors[6] ?? "", /missing\.ts/);
  assert.equal(errors[7], undefined);
  assert.deepEqual(extensions[7]?.commands, [{ name: "good" }]);
});

test("TypeScript of every kind is understood, and files beside the extension are found", async (t) => {
  const agent = new TestAgent(t, {
    "ext/index.ts": `
      import { word } from "./lib/word.js";
      import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
      import { readFileSync } from "node:fs";
      enum Kind { A = "kind-a" }
      namespace Space { export const value = "space"; }
      const text = readFileSync(new URL("./data.txt", import.meta.url), "utf8");
      await Promise.resolve();
      export default async (pi: ExtensionAPI) => {
        await new Promise((resolve) => setImmediate(resolve));
        pi.registerCommand([word, Kind.A, Space.value, text satisfies string].join(" "), { handler: async () => {} });
      };`,
    "ext/lib/word.ts": `export const word: string = "word";`,
    "ext/data.txt": "data",
    "plain.js": `module.exports = (pi) => pi.registerCommand("js", { handler: async () => {} });`,
  });
  const { extensions } = await agent.initialize("ext/index.ts", "plain.js");
  assert.deepEqual(
    extensions.map(({ error, commands }) => error ?? commands),
    [[{ name: "word kind-a space data" }], [{ name: "js" }]],
  );
});

test("unsupported APIs load, and throw an error with their name when used", async (t) => {
  const agent = new TestAgent(t, {
    "a.ts": extension(
      `const uses: Record<string, () => unknown> = {
         tool: () => createBashTool("/"), session: () => SessionManager.open("/x"), component: () => new Mine(), model: () => complete({}),
         agent: () => new Agent(), provider: () => pi.registerProvider("x", {}),
       };
       pi.registerCommand("use", { handler: async (name: string, ctx: any) => {
         uses.tree = () => ctx.navigateTree("x"); uses.reload = () => ctx.reload(); uses.key = () => ctx.modelRegistry.getApiKey({});
         uses.setup = () => ctx.newSession({ setup: () => {} });
         await uses[name]();
       } });`,
      `import { createBashTool, SessionManager } from "@mariozechner/pi-coding-agent"; import { Container, CustomEditor } from "@mariozechner/pi-tui";
       import { complete } from "@mariozechner/pi-ai"; import { Agent } from "@mariozechner/pi-agent-core";
       class Mine extends Container {}`,
    ),
  });
  const { extensions } = await agent.initialize("a.ts");
  assert.equal(extensions[0]?.error, undefined);
  const expected = {
    tool: "createBashTool of @mariozechner/pi-coding-agent",
    session: "SessionManager of @mariozechner/pi-coding-agent.open",
    component: "Container of @mariozechner/pi-tui",
    model: "complete of @mariozechner/pi-ai",
    agent: "Agent of @mariozechner/pi-agent-core",
    provider: "pi.registerProvider()",
    tree: "ctx.navigateTree()",
    reload: "ctx.reload()",
    key: "ctx.modelRegistry.getApiKey(): keys do not leave the agent",
    setup: "ctx.newSession({ setup }): the agent alone writes sessions",
  };
  for (const [use, name] of Object.entries(expected)) {
    const { error } = await agent.response(agent.command("a.ts", "use", use));
    assert.equal(error, `agentese-pi-host does not support ${name}`);
  }
});

test("more extensions can be loaded later, into the same process", async (t) => {
  const says = (name: string) =>
    `pi.registerCommand("${name}", { handler: async (_: string, ctx: any) => ctx.ui.notify("${name} " + process.pid) });`;
  const agent = new TestAgent(t, {
    "a.ts": extension(`pi.events.on("b", () => pi.registerCommand("late", { handler: async () => {} })); ${says("a")}`),
    // The extension registers the flag before it is itself registered with the agent.
    "b.ts": extension(`${says("b")} pi.events.emit("b"); pi.registerFlag("plan", { type: "boolean" });`),
    "bad.ts": extension(`throw new Error("load failed");`),
  });
  const early = await agent.request({ type: "load", extensions: [] });
  assert.equal(early.error, "`load` came before `initialize`");
  assert.equal((await agent.initialize("a.ts")).loadsMore, true);
  const id = agent.sendRequest({ type: "load", extensions: ["b.ts", "bad.ts"].map((name) => agent.path(name)) });
  // This extension is already registered, so its new command is sent at once.
  const { offered } = await agent.next("register");
  assert.deepEqual([offered.path, offered.commands?.length], [agent.path("a.ts"), 2]);
  const { result } = await agent.response(id);
  const { protocol, extensions, watch } = result as unknown as InitializeResult;
  assert.deepEqual([protocol, watch], [1, undefined]);
  assert.deepEqual(
    extensions.map(({ path, error, commands, flags }) => [path, error, commands, flags]),
    [
      [agent.path("b.ts"), undefined, [{ name: "b" }], [{ name: "plan", kind: "boolean" }]],
      [agent.path("bad.ts"), "load failed", undefined, undefined],
    ],
  );
  const pids: string[] = [];
  for (const name of ["a", "b"]) {
    const command = agent.command(`${name}.ts`, name);
    pids.push((await agent.next("notify")).message.split(" ")[1] ?? "");
    await agent.response(command);
  }
  assert.equal(pids[0], pids[1]);
});

test("another version of the protocol is refused", async (t) => {
  const agent = new TestAgent(t);
  const { error } = await agent.request({ type: "initialize", protocol: 2, extensions: [] });
  assert.equal(error, "agentese-pi-host speaks version 1 of the extension protocol, not 2");
});

test("later registrations are sent again", async (t) => {
  const agent = new TestAgent(t, {
    "a.ts": extension(`pi.registerCommand("more", { handler: async () => {
      pi.registerTool({ name: "late", description: "Late", parameters: { type: "object" }, execute: async () => ({ content: [] }) });
      pi.on("agent_end", () => {}); pi.on("agent_end", () => {});
    } });`),
  });
  await agent.initialize("a.ts");
  const id = agent.command("a.ts", "more");
  const { offered } = await agent.next("register");
  assert.deepEqual(offered.tools?.map(({ name }) => name), ["late"]);
  assert.deepEqual((await agent.next("register")).offered.events, ["agent_end"]);
  await agent.response(id);
});
