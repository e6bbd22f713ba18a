// An extension for `extension.test.ts`, which does in each test what the test requests.

import { setTimeout as wait } from "node:timers/promises";

import { EndedError, Extension } from "../../src/extension.js";

const extension = new Extension("fixture");
const { log } = console;
log("printed while it loads");

/** Opens a dialog from a helper without a context of its own. */
async function helper(title: string): Promise<boolean> {
  await wait(1);
  return extension.context.confirm(title, "from a helper");
}

extension.flag({ name: "loud", kind: "boolean", description: "Says more", default: false });

extension.command({ name: "ask", description: "Asks" }, async (args, context) => {
  const limits = args === "" ? undefined : { timeout: Number(args) };
  context.notify(JSON.stringify((await context.select("Which?", ["a", "b"], limits)) ?? null));
});
extension.command({ name: "help" }, async (args, context) => context.notify(`${args} ${await helper(args)}`));
extension.command({ name: "withdraw" }, async (_args, context) => {
  const controller = new AbortController();
  const asked = context.input("Taken back", "soon", { signal: controller.signal });
  controller.abort();
  const never = await context.confirm("Never shown", "", { signal: controller.signal });
  context.notify(JSON.stringify([(await asked) ?? null, never]));
});
extension.command({ name: "edit" }, async (_args, context) => {
  context.notify(JSON.stringify((await context.editor("Edit", "text", { timeout: 30 })) ?? null));
});
extension.command({ name: "act" }, async (_args, context) => {
  await context.sendMessage({ customType: "note", content: "words" }, { triggerTurn: true });
  await context.appendEntry("mark", { at: 1 });
  await context.setSessionName("named");
  await context.setLabel("entry");
  await context.setActiveTools(["read"]);
  const found = await context.setModel("provider", "model");
  await context.setThinkingLevel("low");
  context.sendUserMessage("go on", "followUp");
  const compacted = await context.compact("names");
  const state = await context.state();
  const entries = await context.entries();
  const flag = await extension.flagValue("loud");
  await context.waitForIdle();
  const went = [await context.newSession(), await context.fork("entry"), await context.switchSession("file")];
  await context.abort();
  await context.shutdown();
  context.notify(JSON.stringify({ found, compacted, state, entries, flag, went, cwd: context.cwd, hasUI: context.hasUI }));
});
extension.command({ name: "show" }, (_args, context) => {
  context.notify("plain");
  context.notify("mind", "warning");
  context.setStatus("key", "text");
  context.setStatus("key");
  context.setWidget("block", ["one"], "belowEditor");
  context.setWidget("block");
  context.setTitle("title");
  context.setEditorText("text");
  context.log("info", "logged");
});
extension.command({ name: "print" }, () => {
  console.log("printed", { a: 1 });
  console.info("told");
  process.stdout.write("no newline ");
});
extension.command({ name: "fail" }, () => {
  throw new Error("it failed");
});
extension.command({ name: "refused" }, async (_args, context) => context.setLabel("nowhere", "x"));
extension.command({ name: "late" }, () => {
  void wait(1).then(() => {
    throw new Error("too late for an answer");
  });
});
extension.command({ name: "add" }, () => {
  extension.command({ name: "added" }, () => undefined);
});
extension.command({ name: "add-again" }, () => {
  extension.command({ name: "ask" }, () => undefined);
});
extension.command({ name: "timeout" }, async (_args, context) => void (await context.confirm("x", "y", { timeout: -1 })));

extension.tool<{ seconds: number }>(
  { name: "wait", description: "Waits", parameters: { type: "object" } },
  async ({ seconds }, context, update) => {
    update(`waiting ${seconds}`, { seconds });
    await wait(seconds * 1000, undefined, { signal: context.signal });
    return `waited ${seconds}`;
  },
);
extension.tool({ name: "no-json", description: "Gives what JSON has no word for", parameters: {} }, () => ({ content: [], details: 1n as never }));
extension.tool({ name: "whole", description: "Gives all", parameters: {} }, () => ({ content: [], isError: true }));

let remembered = extension.context;
extension.on("session_start", (_event, context) => {
  remembered = context;
});
extension.on("turn_start", () => {
  throw new Error("nobody waits");
});
extension.on("input", async (event, context) => {
  if (event.text === "remembered") context.notify(String(await remembered.confirm("Remembered?", "")));
  if (event.text.startsWith("?")) return { action: "transform", text: event.text.slice(1) };
  return event.text === "mine" ? { action: "handled" } : undefined;
});
extension.on("input", (event) => (event.text === "?both" || event.text === "mine" ? { action: "transform", text: "second" } : undefined));

await extension.run();
await remembered.state().catch((error: unknown) => {
  if (error instanceof EndedError) console.error("the end:", error.message);
});
// The process must end in spite of this timer, because the extension does not wait for it.
setTimeout(() => undefined, 3_600_000);
