/** What the page knows, and what it does with it: one conversation, one connection. */

import { type Conversation, type Message, View } from "agentese/ui";

import { Recorder } from "./inspector/recorder.js";
import { type Action, type Call, DIALECTS, type Dialect, type Needs, TITLES } from "./dialects/index.js";
import { Revision } from "./revision.js";
import { CallError, type Ended, type Hello, Link, endedText, type Listed, type Word, membersOf } from "./link.js";

/** What is shown beside the conversation. */
export interface Page {
  readonly connected: boolean;
  readonly hello: Hello | undefined;
  /** Why the agent does not run. */
  readonly ended: Ended | undefined;
  readonly sessions: readonly Listed[] | undefined;
  readonly toasts: readonly Toast[];
  /** Commands that the agent turned out not to have. */
  readonly missing: ReadonlySet<string>;
  readonly levels: readonly string[] | undefined;
  readonly tree: unknown;
  readonly stats: unknown;
  /** A text for the place where one writes; the count grows with each. */
  readonly draft: { readonly text: string; readonly count: number } | undefined;
}

export interface Toast {
  readonly key: number;
  readonly level: "info" | "warning" | "error";
  readonly text: string;
}

const NOTHING: Page = {
  connected: false,
  hello: undefined,
  ended: undefined,
  sessions: undefined,
  toasts: [],
  missing: new Set(),
  levels: undefined,
  tree: undefined,
  stats: undefined,
  draft: undefined,
};

/** When something happened that was told late: nobody is notified of it any more. */
export const LONG_AGO = 1;

/** How long a message of the page stays, in milliseconds. */
const TOAST = 8000;

export class Store {
  page = NOTHING;
  readonly recorder = new Recorder();
  readonly link: Link;
  dialect: Dialect = { actions: {}, pictures: false, deliveries: [], levels: [], forkReturnsText: false, opensBy: "file" };
  #view = View.open("pi");
  #listeners = new Set<() => void>();
  #isAnnounced = false;
  #toasts = 0;
  /** The session that was open last, for an agent that is started again; one that is not kept has no file. */
  #lastSession: Conversation["session"] = {};
  #revision: Revision | undefined;
  /** How often all is being asked for. */
  #refreshing = 0;
  /** Over when the session of a new tab, or of an agent that is started again, is there or could not be opened. */
  #opening: Promise<unknown> = Promise.resolve();
  /** Ends the wait for an agent that is started again. */
  #startedAgain: () => void = () => {};

  constructor() {
    this.link = new Link({
      word: (word) => this.#word(word),
      frame: (direction, line, others) => this.#frame(direction, line, others),
      state: (connected) => this.#set({ connected }),
    });
  }

  get conversation(): Conversation {
    return this.#view.conversation;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  #set(change: Partial<Page>): void {
    this.page = { ...this.page, ...change };
    this.#announce();
  }

  /** Everything that changed since the last picture is drawn at once. */
  #announce(): void {
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    const draw = (): void => {
      if (!this.#isAnnounced) return;
      this.#isAnnounced = false;
      for (const listener of this.#listeners) listener();
    };
    requestAnimationFrame(draw);
    // A page in the background gets no pictures, and keeps its title and its list of questions up to date all the same.
    setTimeout(draw, 250);
  }

  toast(level: Toast["level"], text: string): void {
    const key = ++this.#toasts;
    this.#set({ toasts: [...this.page.toasts.slice(-4), { key, level, text }] });
    setTimeout(() => this.dismiss(key), TOAST);
  }

  dismiss(key: number): void {
    this.#set({ toasts: this.page.toasts.filter((toast) => toast.key !== key) });
  }

  #frame(direction: "sent" | "received", line: string, others: boolean): void {
    this.#reads(() => this.recorder.add(direction, line, others));
    if (direction === "received") this.#reads(() => this.#lookAt(line));
    this.#fold(direction, line);
  }

  /** Does something with a frame. What cannot be done with it is told of in the inspector, and nothing else suffers. */
  #reads(read: () => void): void {
    try {
      read();
    } catch (error) {
      this.recorder.note(`a frame could not be read: ${error instanceof Error ? error.message : "unknown"}`);
    }
  }

  #fold(direction: "sent" | "received", line: string, at = Date.now()): void {
    const wasComplete = this.conversation.complete;
    this.#reads(() => this.#view[direction](line, at));
    const { session, complete } = this.conversation;
    if (session.file !== undefined || session.id !== undefined) this.#lastSession = session;
    if (wasComplete && !complete && this.#refreshing === 0) void this.refresh();
    this.#announce();
  }

  /** What the frame shows of the agent's revision may bring controls. */
  #lookAt(line: string): void {
    if (this.#revision?.isKnown !== false) return;
    const frame = membersOf(line);
    const isAnswer = frame["type"] === "response";
    const name = frame[isAnswer ? "command" : "type"];
    if (typeof name !== "string") return;
    const seen = isAnswer ? frame["success"] === true && this.#revision.look("answer", name, frame["data"] ?? {}) : this.#revision.look("event", name, frame);
    if (seen) void this.refresh();
  }

  #word(word: Word): void {
    switch (word.agentese) {
      case "hello":
        return this.#greeted(word);
      case "ended":
        this.recorder.note(endedText(word));
        this.#startedAgain();
        if (word.restarts) this.#opening = new Promise<void>((over) => (this.#startedAgain = over));
        if (word.restarts) this.toast("warning", `${endedText(word)}, and was started again.`);
        this.#view = View.open(this.page.hello?.dialect ?? "pi", { kept: brokenOff(this.#view) });
        return this.#set({ ended: word, hello: this.page.hello && { ...this.page.hello, unshown: 0 } });
      case "started":
        this.recorder.note("the agent was started again");
        this.#set({ ended: undefined });
        // Where another tab opens the session again, it says when it has.
        if (word.resume) void this.#resume();
        return this.#startedAgain();
      case "resumed":
        return void this.refresh();
      case "withdrawn":
        return this.#withdraw(word.id);
      case "noise":
        return this.recorder.note(`${word.error}: ${word.line.slice(0, 500)}`);
      case "refused":
        return this.toast("error", word.error);
      case "sessions":
        return this.#set({ sessions: word.sessions });
      default:
        return;
    }
  }

  #greeted(hello: Hello): void {
    const known = Object.hasOwn(DIALECTS, hello.dialect) ? DIALECTS[hello.dialect] : undefined;
    if (known === undefined) return this.toast("error", `this page does not speak ${hello.dialect}`);
    this.link.spec = known.spec;
    this.dialect = known.dialect;
    this.#revision = new Revision(known.spec, hello.revision);
    this.recorder.begin(hello.dialect, known.spec);
    this.#set({ hello, ended: hello.ended ?? undefined });
    if (hello.back) return;
    this.#startedAgain();
    this.#view = View.open(hello.dialect, hello.session === null ? {} : { session: hello.session });
    this.#refreshing++;
    // Nothing of it is news.
    for (const [direction, line] of this.link.told(hello.begun)) this.#fold(direction, line, LONG_AGO);
    this.#refreshing--;
    for (const { line, ago } of hello.questions) this.#fold("received", line, Date.now() - ago);
    this.#announce();
    if (hello.ended === null) void this.#join(hello);
  }

  /** Learns what was said before this tab came. */
  async #join(hello: Hello): Promise<void> {
    if (hello.session === null && !hello.readOnly) {
      this.#opening = this.#begin().catch((error: unknown) => this.#failed(error));
    }
    await this.#opening;
    await this.refresh();
  }

  async #begin(): Promise<void> {
    await this.dialect.begin?.((call) => this.ask(call));
  }

  /** Asks for all that the page shows. */
  async refresh(): Promise<void> {
    this.#refreshing++;
    await this.quietly("state");
    await this.quietly("history");
    this.#refreshing--;
    await Promise.all(
      (["models", "commands", "forkPoints", "stats", "thinkingLevels"] as const).map((action) => this.quietly(action)),
    );
  }

  /** Asks for the sessions that can be opened. */
  async listSessions(): Promise<void> {
    const { listed } = this.dialect;
    if (listed === undefined) return this.link.ask("sessions");
    const done = await this.try("sessions");
    if (done !== undefined) this.#set({ sessions: listed(done.data) });
  }

  /** Does something that puts another session in the place of this one. */
  async renew<K extends "newSession" | "openSession" | "compact">(action: K, ...needs: Needs[K]): Promise<void> {
    if ((await this.try(action, ...needs)) !== undefined) await this.refresh();
  }

  /** Changes a setting that the state shows. */
  async change<K extends "setModel" | "setThinking">(action: K, ...needs: Needs[K]): Promise<void> {
    await this.try(action, ...needs);
    await this.quietly("state");
  }

  async rename(name: string): Promise<void> {
    await this.try("rename", name);
    await this.quietly("state");
  }

  /** Forks the session at a message. Where only messages of the user can be forked, their text comes back to be changed. */
  async forkAt(message: Message): Promise<void> {
    if (!this.dialect.forkReturnsText) {
      if (message.id === undefined) return this.toast("warning", "The agent does not say which entry this message is.");
      return this.fork(message.id);
    }
    await this.quietly("forkPoints");
    const said = this.conversation.messages.filter(({ role }) => role === "user");
    const fromEnd = said.length - said.findIndex(({ key }) => key === message.key);
    const point = this.conversation.forkPoints?.at(-fromEnd);
    if (point === undefined || point.text.trim() !== textOf(message).trim()) {
      return this.toast("warning", "The agent lists no fork point for this message; see Forks.");
    }
    return this.fork(point.id);
  }

  async fork(entry: string): Promise<void> {
    const done = await this.try("fork", entry);
    if (done === undefined) return;
    const { text, cancelled } = (done.data ?? {}) as { text?: unknown; cancelled?: unknown };
    if (cancelled === true) return this.toast("info", "An extension stopped the fork.");
    if (typeof text === "string") this.draft(text);
    await this.refresh();
  }

  /** Puts a text where one writes. */
  draft(text: string): void {
    this.#set({ draft: { text, count: (this.page.draft?.count ?? 0) + 1 } });
  }

  /** The agent was started again: the session that was open is opened again, where it was kept. */
  async #resume(): Promise<void> {
    const { file = "", id = "" } = this.#lastSession;
    const isKept = (this.dialect.opensBy === "file" ? file : id) !== "" && this.can("openSession") === undefined;
    this.#opening = isKept ? this.#act("openSession", [file, id]) : this.#begin().catch(() => undefined);
    await this.#opening;
    this.link.ask("resumed");
    await this.refresh();
  }

  #withdraw(id: unknown): void {
    const { spec } = this.link;
    // The fold takes a question from the list when it sees an answer to it.
    const frame = spec?.dialogFrames
      ? { type: spec.dialogFrames.answer, id, cancelled: true }
      : { jsonrpc: "2.0", id, result: {} };
    this.#fold("sent", JSON.stringify(frame));
  }

  /** Why an action is not there; `undefined` where it is. */
  can(action: Action): string | undefined {
    const { hello, missing } = this.page;
    const name = hello?.dialect ?? "";
    const command = this.dialect.actions[action]?.command;
    if (command === undefined) return `the ${name} dialect has no command for it`;
    if (this.#revision?.has(command) === false) return `the revision of ${name} that this agent speaks has no “${command}”`;
    if (missing.has(command)) return `this agent does not know “${command}”`;
    if (this.link.spec !== undefined && !Object.hasOwn(this.link.spec.commands, command)) {
      return `the ${name} dialect has no command for it`;
    }
    if (hello?.deny.includes(command)) return `“${command}” is denied: agentese web was started with --deny`;
    const reads = this.link.spec?.commands[command]?.reads === true;
    return hello?.readOnly && !reads ? "agentese web was started with --read-only" : undefined;
  }

  /** What is missing, with the reason. */
  get absent(): { title: string; reason: string }[] {
    return Object.entries(TITLES).flatMap(([action, title]) => {
      const reason = this.can(action as Action);
      return reason === undefined ? [] : [{ title, reason }];
    });
  }

  ask(call: Call): Promise<unknown> {
    return this.link.call(call.command, call.params);
  }

  /**
   * Does something; while a session is being opened, when that is over. Gives the answer's data; a failure is shown, and gives
   * `undefined`.
   */
  async try<K extends Action>(action: K, ...needs: Needs[K]): Promise<{ data: unknown } | undefined> {
    let seen;
    // Another one may be opened in its place.
    do await (seen = this.#opening);
    while (seen !== this.#opening);
    return this.#act(action, needs);
  }

  async #act<K extends Action>(action: K, needs: Needs[K]): Promise<{ data: unknown } | undefined> {
    const act = this.dialect.actions[action];
    if (act === undefined) return undefined;
    try {
      return { data: await this.ask({ command: act.command, params: act.params(...needs, this.conversation) }) };
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  #failed(error: unknown): void {
    if (error instanceof CallError && error.isUnknown) {
      return this.#set({ missing: new Set([...this.page.missing, error.command]) });
    }
    this.toast("error", error instanceof Error ? error.message : String(error));
  }

  /** Asks for something that the page can do without. */
  async quietly(action: "state" | "history" | "models" | "commands" | "forkPoints" | "stats" | "tree" | "thinkingLevels"): Promise<void> {
    if (this.can(action) !== undefined) return;
    const act = this.dialect.actions[action];
    if (act === undefined) return;
    try {
      const data = await this.ask({ command: act.command, params: act.params(this.conversation) });
      if (action === "tree") this.#set({ tree: data });
      if (action === "stats") this.#set({ stats: data });
      if (action === "thinkingLevels") this.#set({ levels: textsIn((data as { levels?: unknown } | null | undefined)?.levels) });
    } catch (error) {
      if (error instanceof CallError && error.isUnknown) this.#failed(error);
    }
  }
}

/** The texts in a list; `undefined` where it is none. */
function textsIn(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
}

/** The text of a message. */
export function textOf(message: Message): string {
  return message.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
}

/** What a conversation is once its agent is gone: nothing is going on, and what was being said was broken off. */
function brokenOff(view: View): Conversation {
  const kept = view.snapshot();
  const messages = kept.messages.map((message) => (message.state === "growing" ? { ...message, state: "aborted" as const } : message));
  const run = { state: "idle", working: false, aborting: false } as const;
  return { ...kept, messages, run, dialogs: [], shells: [], waiting: [] };
}
