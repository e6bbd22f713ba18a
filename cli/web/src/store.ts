/** State and actions of the page: one conversation, one connection. */

import { type Conversation, type Message, View } from "agentese/ui";

import { Recorder } from "./inspector/recorder.js";
import { type Action, type Call, DIALECTS, type Dialect, type Needs, TITLES } from "./dialects/index.js";
import { Revision } from "./revision.js";
import { CallError, type Ended, type Hello, Link, endedText, type Listed, type Word, membersOf } from "./link.js";

/** State of the page beside the conversation. */
export interface Page {
  readonly connected: boolean;
  readonly hello: Hello | undefined;
  /** End of the agent, if it is not running. */
  readonly ended: Ended | undefined;
  readonly sessions: readonly Listed[] | undefined;
  readonly toasts: readonly Toast[];
  /** Commands that the agent turned out to lack. */
  readonly missing: ReadonlySet<string>;
  readonly levels: readonly string[] | undefined;
  readonly tree: unknown;
  readonly stats: unknown;
  /** Text for the input field; the count grows with each text. */
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

/** Time of late events, which cause no notifications. */
export const LONG_AGO = 1;

/** Display time of a message of the page in milliseconds. */
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
  /** Last open session, for a restarted agent; a session without storage has no file. */
  #lastSession: Conversation["session"] = {};
  #revision: Revision | undefined;
  /** Number of complete refreshes in progress. */
  #refreshing = 0;
  /** Opening of the session for a new tab or a restarted agent; resolves also after a failure. */
  #opening: Promise<unknown> = Promise.resolve();
  /** Ends the wait for a restarted agent. */
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

  /** Draws all changes since the last paint at once. */
  #announce(): void {
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    const draw = (): void => {
      if (!this.#isAnnounced) return;
      this.#isAnnounced = false;
      for (const listener of this.#listeners) listener();
    };
    requestAnimationFrame(draw);
    // A page in the background is not painted, but must update its title and its list of questions.
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

  /** Processes a frame. The inspector records a failure, which has no other effect. */
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

  /** Updates the revision by a frame, which may enable controls. */
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
        // If another tab reopens the session, the server sends `resumed` afterwards.
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
    // These frames cause no notifications.
    for (const [direction, line] of this.link.told(hello.begun)) this.#fold(direction, line, LONG_AGO);
    this.#refreshing--;
    for (const { line, ago } of hello.questions) this.#fold("received", line, Date.now() - ago);
    this.#announce();
    if (hello.ended === null) void this.#join(hello);
  }

  /** Loads the earlier conversation for a new tab. */
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

  /** Queries the complete state of the page. */
  async refresh(): Promise<void> {
    this.#refreshing++;
    await this.quietly("state");
    await this.quietly("history");
    this.#refreshing--;
    await Promise.all(
      (["models", "commands", "forkPoints", "stats", "thinkingLevels"] as const).map((action) => this.quietly(action)),
    );
  }

  /** Queries the available sessions. */
  async listSessions(): Promise<void> {
    const { listed } = this.dialect;
    if (listed === undefined) return this.link.ask("sessions");
    const done = await this.try("sessions");
    if (done !== undefined) this.#set({ sessions: listed(done.data) });
  }

  /** Executes an action that replaces the session. */
  async renew<K extends "newSession" | "openSession" | "compact">(action: K, ...needs: Needs[K]): Promise<void> {
    if ((await this.try(action, ...needs)) !== undefined) await this.refresh();
  }

  /** Changes a setting that is part of the state. */
  async change<K extends "setModel" | "setThinking">(action: K, ...needs: Needs[K]): Promise<void> {
    await this.try(action, ...needs);
    await this.quietly("state");
  }

  async rename(name: string): Promise<void> {
    await this.try("rename", name);
    await this.quietly("state");
  }

  /**
   * Forks the session at a message. If only user messages can be forked, the agent returns their text for
   * editing.
   */
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

  /** Puts a text into the input field. */
  draft(text: string): void {
    this.#set({ draft: { text, count: (this.page.draft?.count ?? 0) + 1 } });
  }

  /** Reopens the last session after a restart of the agent, if the session was stored. */
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
    // The fold removes a question when it receives an answer.
    const frame = spec?.dialogFrames
      ? { type: spec.dialogFrames.answer, id, cancelled: true }
      : { jsonrpc: "2.0", id, result: {} };
    this.#fold("sent", JSON.stringify(frame));
  }

  /** Returns the reason for a missing action; `undefined` if it is available. */
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

  /** Missing actions with their reasons. */
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
   * Executes an action after any pending opening of a session. Returns the data of the response. A failure is
   * displayed, and the result is `undefined`.
   */
  async try<K extends Action>(action: K, ...needs: Needs[K]): Promise<{ data: unknown } | undefined> {
    let seen;
    // Another opening may start meanwhile.
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

  /** Queries optional data of the page. */
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

/** Returns the texts in a list; `undefined` if the value is not a list. */
function textsIn(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
}

/** Returns the text of a message. */
export function textOf(message: Message): string {
  return message.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
}

/** Returns the conversation after the end of its agent: no activity, and incomplete messages aborted. */
function brokenOff(view: View): Conversation {
  const kept = view.snapshot();
  const messages = kept.messages.map((message) => (message.state === "growing" ? { ...message, state: "aborted" as const } : message));
  const run = { state: "idle", working: false, aborting: false } as const;
  return { ...kept, messages, run, dialogs: [], shells: [], waiting: [] };
}
