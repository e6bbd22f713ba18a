// Walks every command of a dialect with the TypeScript client: `walk.js DIALECT PROGRAM ARGUMENTS…`.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { type pi, omp } from "agentese";
import * as agentese from "agentese";
import { spawn } from "agentese/stdio";

import { Report } from "./report.js";

type Client = pi.Client | omp.Client;
type Run = pi.Run | omp.Run;
type Event = pi.Event | omp.Event | agentese.UnknownEvent;

const [dialect = "", ...command] = process.argv.slice(2);
const report = new Report(dialect, process.env["WALK_REVISION"] ?? "", process.env["WALK_MODEL"] ?? "");
const step = report.step.bind(report);
const answered: string[] = [];
let asked = (): void => undefined;

const options = {
  dialogs: {
    select: ({ options }: pi.SelectDialog) => options[1],
    confirm: () => true,
    input: () => "Ann",
    editor: ({ prefill }: pi.EditorDialog) => `${prefill}, edited`,
    setStatus: ({ statusKey }: pi.SetStatusNotice) => void (statusKey === "walk" && answered.push("status")),
    setWidget: ({ widgetKey }: pi.SetWidgetNotice) => void (widgetKey === "walk" && answered.push("widget")),
    setTitle: ({ title }: pi.SetTitleNotice) => void (title === "asked" && answered.push("title")),
    setEditorText: () => void answered.push("editor text"),
    notify: ({ message }: pi.NotifyNotice) => {
      answered.push(message);
      asked();
    },
  },
  tap: { diagnostic: (odd: agentese.Diagnostic) => report.diagnostic(odd) },
  timeout: 60_000,
};
const client: Client = dialect === "omp" ? await spawn(omp.Client, command, options) : await spawn(agentese.pi.Client, command, options);

const listening = (async () => {
  for await (const event of client.events() as AsyncIterable<Event>) report.event(event);
})();

/** Returns the event of that type. Fails if there is no such event. */
function one<K extends Event["type"]>(events: Event[], type: K): Extract<Event, { type: K }> {
  const found = events.find((event): event is Extract<Event, { type: K }> => event.type === type);
  if (found === undefined) throw new Error(`no ${type}`);
  return found;
}

/** Waits for a promise. Fails after a minute. */
async function within<V>(promise: Promise<V>, what: string): Promise<V> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, fail) => (timer = setTimeout(() => fail(new Error(`${what}: nothing within a minute`)), 60_000)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Polls a condition until it is true, for ten seconds. */
async function eventually(condition: () => boolean, what: string): Promise<void> {
  for (let left = 1000; !condition(); left--) {
    if (left === 0) throw new Error(`${what}: not within ten seconds`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Follows a run to its end, and calls `at` with each event. */
async function follow(run: Run, at: (event: Event) => Promise<void> | void = () => undefined): Promise<Event[]> {
  const events: Event[] = [];
  const reading = async (): Promise<void> => {
    for await (const event of run as AsyncIterable<Event>) {
      events.push(event);
      await at(event);
    }
  };
  await within(reading(), "the run");
  return events;
}

const isDelta = (event: Event): boolean => event.type === "message_update" && event.assistantMessageEvent.type === "text_delta";

/**
 * Sends a prompt, calls `act` at the first event for which `when` is true, and follows the run to
 * its end.
 */
async function promptAnd(message: string, when: (event: Event) => boolean, act: (run: Run) => Promise<void>): Promise<Event[]> {
  const run = await client.prompt({ message });
  let done = false;
  return follow(run, async (event) => {
    if (done || !when(event)) return;
    done = true;
    await act(run);
  });
}

/** Returns the texts of the user messages in the events of a run. */
function taken(events: Event[]): string {
  const texts = events.flatMap((event) => (event.type === "message_start" && event.message.role === "user" ? [event.message.content] : []));
  return texts.map((content) => (typeof content === "string" ? content : content.map((block) => ("text" in block ? block.text : "")).join(""))).join(", ");
}

const state = async (): Promise<pi.SessionState | omp.OmpSessionState> => client.getState();

await step("get_state", state, ({ model }) => `${model?.provider}/${model?.id}`);
const { sessionFile = "" } = await state();
await step("get_available_models", () => client.getAvailableModels(), ({ models }) => models.map(({ id }) => id).join(", "));
await step("set_model", () => client.setModel({ provider: "loopback", modelId: "two" }), ({ id }) => id);
await step("cycle_model", () => client.cycleModel(), (cycled) => cycled?.model.id ?? "none");
await step("set_thinking_level", () => client.setThinkingLevel({ level: "low" }), async () => (await state()).thinkingLevel ?? "none");
await step("cycle_thinking_level", () => client.cycleThinkingLevel(), (cycled) => cycled?.level ?? "none");
await step("set_steering_mode", () => client.setSteeringMode({ mode: "all" }), async () => (await state()).steeringMode);
await step("set_follow_up_mode", () => client.setFollowUpMode({ mode: "all" }), async () => (await state()).followUpMode);
if (client instanceof omp.Client) {
  await step("set_interrupt_mode", () => client.setInterruptMode({ mode: "wait" }), async () => (await client.getState()).interruptMode);
}
await step("set_auto_compaction", () => client.setAutoCompaction({ enabled: false }), async () => String((await state()).autoCompactionEnabled));
await step("set_auto_retry", () => client.setAutoRetry({ enabled: true }), () => "taken");
await step("set_session_name", () => client.setSessionName({ name: "a walk" }), async () => (await state()).sessionName ?? "none");
await step("bash", () => client.bash({ command: "echo hello" }), ({ output, exitCode }) => `${output.trim()}, exit code ${exitCode}`);
const sleeping = client.bash({ command: "touch sleeping; sleep 3" });
await eventually(() => existsSync("sleeping"), "the command runs");
await step("abort_bash", () => client.abortBash(), async () => `cancelled: ${(await sleeping).cancelled}`);

await step("prompt", async (): Promise<Run> => client.prompt({ message: "use a tool" }), async (run) => {
  const tools = (await follow(run)).flatMap((event) => (event.type === "tool_execution_end" ? [event.toolName] : []));
  return `ran ${tools.join(", ")}`;
});
await step("get_last_assistant_text", () => client.getLastAssistantText(), ({ text }) => text ?? "none");
let steered: Event[] = [];
await step("steer", async () => {
  steered = await promptAnd("speak slowly", isDelta, async (run) => {
    await run.steer({ message: "turn left" });
    await step("follow_up", async () => void (await run.followUp({ message: "and then" })), () => "queued");
  });
}, () => `the run took ${taken(steered)}`);
await step("abort", async () => {
  const events = await promptAnd("speak slowly", isDelta, (run) => run.abort());
  return events.findLast((event) => event.type === "message_end");
}, (end) => (end?.message.role === "assistant" ? `the answer is ${end.message.stopReason}` : "no answer"));
await step("abort_retry", async () => {
  const events = await promptAnd("be overloaded", ({ type }) => type === "auto_retry_start", () => client.abortRetry());
  return one(events, "auto_retry_end");
}, ({ attempt, success }) => `retry ${attempt} given up: ${!success}`);
if (client instanceof omp.Client) {
  await step("abort_and_prompt", async () => {
    const first = await client.prompt({ message: "speak slowly" });
    let second: Promise<omp.Run> | undefined;
    await follow(first, (event) => void (isDelta(event) && (second ??= client.abortAndPrompt({ message: "something else" }))));
    return second && follow(await second);
  }, (events) => `the second run took ${taken(events ?? [])}`);
}

await step("get_session_stats", () => client.getSessionStats(), ({ toolCalls }) => `${toolCalls} tool call`);
await step("get_messages", () => client.getMessages(), ({ messages }) => messages.map(({ role }) => role).filter((role, at, all) => all.indexOf(role) === at).join(", "));
const page = join(process.cwd(), "walk.html");
await step("export_html", () => client.exportHtml({ outputPath: page }), () => (/<html/i.test(readFileSync(page, "utf8")) ? "a page" : "no page"));
await step("compact", () => client.compact({ customInstructions: "Be brief." }), ({ summary }) => (summary ? "a summary" : "no summary"));
if (client instanceof omp.Client) {
  const points = await client.getBranchMessages();
  await step("get_branch_messages", () => client.getBranchMessages(), ({ messages }) => messages[0]?.text ?? "none");
  await step("branch", () => client.branch({ entryId: points.messages[0]?.entryId ?? "" }), ({ text, cancelled }) => `${text}, cancelled: ${cancelled}`);
} else {
  await step("get_commands", () => client.getCommands(), ({ commands }) => commands.map(({ name }) => name).sort().join(", "));
  const points = await client.getForkMessages();
  await step("get_fork_messages", () => client.getForkMessages(), ({ messages }) => messages[0]?.text ?? "none");
  await step("fork", () => client.fork({ entryId: points.messages[0]?.entryId ?? "" }), ({ text, cancelled }) => `${text}, cancelled: ${cancelled}`);
}
await step("new_session", () => client.newSession(), async ({ cancelled }) => `${(await state()).messageCount} messages, cancelled: ${cancelled}`);
await step("switch_session", () => client.switchSession({ sessionPath: sessionFile }), async () => (await state()).sessionName ?? "none");

if (process.env["WALK_EXTENSIONS"]) {
  await step("(dialogs)", async () => {
    const told = new Promise<void>((resolve) => (asked = resolve));
    await follow(await client.prompt({ message: "/ask" }));
    await within(told, "the notice");
  }, () => answered.join(", "));
  await step("(extension error)", async () => {
    const failed = new Promise<string>((resolve) => void (async () => {
      for await (const event of client.events() as AsyncIterable<Event>) if (event.type === "extension_error") return resolve(event.error);
    })());
    await follow(await client.prompt({ message: "/boom" }));
    return within(failed, "the error");
  }, (error) => error);
}
if (client instanceof omp.Client) {
  await step("(rule)", async () => follow(await client.prompt({ message: "say the word" })), (events) => {
    const rules = events.flatMap((event) => (event.type === "ttsr_triggered" ? event.rules : []));
    return `triggered: ${rules.map(({ name }) => String(name)).join(", ")}`;
  });
  await step("(reminders)", async () => follow(await client.prompt({ message: "leave things open" })), (events) => {
    return `attempts: ${events.flatMap((event) => (event.type === "todo_reminder" ? [event.attempt] : [])).join(", ")}`;
  });
}
await step("(automatic compaction)", async () => {
  await client.setAutoCompaction({ enabled: true });
  const events = await follow(await client.prompt({ message: "fill the context" }));
  return one(events, "auto_compaction_end");
}, ({ result }) => (result ? "a summary" : "none"));

await client.close();
await listening;
report.end();
