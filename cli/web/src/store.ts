/** State and actions of the page: one conversation, one connection. */

import { type Conversation, type Message, View } from "agentese/ui";

import { Recorder } from "./inspector/recorder.js";
import { type Action, type Call, DIALECTS, type Dialect, type ActionArguments, TITLES } from "./dialects/index.js";
import { RevisionDetector } from "./revision_detector.js";
import { CallError, type EndedMessage, type Hello, ServerConnection, endedText, type SessionInfo, type ServerMessage, membersOf } from "./connection.js";

/** State of the page in addition to the conversation. */
export interface Page {
  readonly connected: boolean;
  readonly hello: Hello | undefined;
  /** End of the agent, if it is not running. */
  readonly ended: EndedMessage | undefined;
  readonly sessions: readonly SessionInfo[] | undefined;
  readonly toasts: readonly Toast[];
  /** Commands that the agent has rejected as unknown. */
  readonly missing: ReadonlySet<string>;
  readonly levels: readonly string[] | undefined;
  readonly tree: unknown;
  readonly stats: unknown;
  /** Text that is to be put into the input field. `count` increases with each such text. */
  readonly draft: { readonly text: string; readonly count: number } | undefined;
}

export interface Toast {
  readonly key: number;
  readonly level: "info" | "warning" | "error";
  readonly text: string;
}

const INITIAL_PAGE: Page = {
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

/** Time that stored frames of earlier events get, so that they cause no notifications. */
export const LONG_AGO = 1;

/** Time in milliseconds for which a message of the page is displayed. */
const TOAST = 8000;

export class Store {
  page = INITIAL_PAGE;
  readonly recorder = new Recorder();
  readonly link: ServerConnection;
  dialect: Dialect = { actions: {}, pictures: false, deliveries: [], levels: [], forkReturnsText: false, opensBy: "file" };
  #view = View.open("pi");
  #listeners = new Set<() => void>();
  #isDrawScheduled = false;
  #toasts = 0;
  /** Session that was open last. It is reopened after a restart of the agent, if it was stored in a file. */
  #lastSession: Conversation["session"] = {};
  #revision: RevisionDetector | undefined;
  /** Number of complete refreshes in progress. */
  #refreshing = 0;
  /**
   * Opening of the session for a new tab, or after a restart of the agent. The promise also resolves if the
   * opening fails.
   */
  #opening: Promise<unknown> = Promise.resolve();
  /** Function that ends the wait for a restart of the agent. */
  #resolveRestart: () => void = () => {};

  constructor() {
    this.link = new ServerConnection({
      message: (message) => this.#handleMessage(message),
      frame: (direction, line, isOtherTab) => this.#frame(direction, line, isOtherTab),
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
    this.#scheduleDraw();
  }

  /** Schedules one redraw for all changes since the last paint. */
  #scheduleDraw(): void {
    if (this.#isDrawScheduled) return;
    this.#isDrawScheduled = true;
    const draw = (): void => {
      if (!this.#isDrawScheduled) return;
      this.#isDrawScheduled = false;
      for (const listener of this.#listeners) listener();
    };
    requestAnimationFrame(draw);
    // A page in the background is not painted, but its title and its list of questions must be updated.
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

  #frame(direction: "sent" | "received", line: string, isOtherTab: boolean): void {
    this.#tryRead(() => this.recorder.add(direction, line, isOtherTab));
    if (direction === "received") this.#tryRead(() => this.#observeRevision(line));
    this.#fold(direction, line);
  }

  /** Runs a function that processes a frame. If it fails, a note is added to the inspector. */
  #tryRead(read: () => void): void {
    try {
      read();
    } catch (error) {
      this.recorder.note(`a frame could not be read: ${error instanceof Error ? error.message : "unknown"}`);
    }
  }

  #fold(direction: "sent" | "received", line: string, at = Date.now()): void {
    const wasComplete = this.conversation.complete;
    this.#tryRead(() => this.#view[direction](line, at));
    const { session, complete } = this.conversation;
    if (session.file !== undefined || session.id !== undefined) this.#lastSession = session;
    if (wasComplete && !complete && this.#refreshing === 0) void this.refresh();
    this.#scheduleDraw();
  }

  /** Passes a frame to the detector of the revision. Knowledge of the revision may enable controls. */
  #observeRevision(line: string): void {
    if (this.#revision?.isKnown !== false) return;
    const frame = membersOf(line);
    const isAnswer = frame["type"] === "response";
    const name = frame[isAnswer ? "command" : "type"];
    if (typeof name !== "string") return;
    const seen = isAnswer ? frame["success"] === true && this.#revision.observe("answer", name, frame["data"] ?? {}) : this.#revision.observe("event", name, frame);
    if (seen) void this.refresh();
  }

  #handleMessage(message: ServerMessage): void {
    switch (message.agentese) {
      case "hello":
        return this.#handleHello(message);
      case "ended":
        this.recorder.note(endedText(message));
        this.#resolveRestart();
        if (message.restarts) this.#opening = new Promise<void>((resolve) => (this.#resolveRestart = resolve));
        if (message.restarts) this.toast("warning", `${endedText(message)}, and was started again.`);
        this.#view = View.open(this.page.hello?.dialect ?? "pi", { stored: interruptedConversation(this.#view) });
        return this.#set({ ended: message, hello: this.page.hello && { ...this.page.hello, unshown: 0 } });
      case "started":
        this.recorder.note("the agent was started again");
        this.#set({ ended: undefined });
        // If another tab reopens the session, the server sends `resumed` when the session is open.
        if (message.resume) void this.#resume();
        return this.#resolveRestart();
      case "resumed":
        return void this.refresh();
      case "withdrawn":
        return this.#withdraw(message.id);
      case "noise":
        return this.recorder.note(`${message.error}: ${message.line.slice(0, 500)}`);
      case "refused":
        return this.toast("error", message.error);
      case "sessions":
        return this.#set({ sessions: message.sessions });
      default:
        return;
    }
  }

  #handleHello(hello: Hello): void {
    const known = Object.hasOwn(DIALECTS, hello.dialect) ? DIALECTS[hello.dialect] : undefined;
    if (known === undefined) return this.toast("error", `this page does not support the dialect ${hello.dialect}`);
    this.link.spec = known.spec;
    this.dialect = known.dialect;
    this.#revision = new RevisionDetector(known.spec, hello.revision);
    this.recorder.setDialect(hello.dialect, known.spec);
    this.#set({ hello, ended: hello.ended ?? undefined });
    if (hello.back) return;
    this.#resolveRestart();
    this.#view = View.open(hello.dialect, hello.session === null ? {} : { session: hello.session });
    this.#refreshing++;
    // The time of these frames is set so that they cause no notifications.
    for (const [direction, line] of this.link.storedFrames(hello.begun)) this.#fold(direction, line, LONG_AGO);
    this.#refreshing--;
    for (const { line, ago } of hello.questions) this.#fold("received", line, Date.now() - ago);
    this.#scheduleDraw();
    if (hello.ended === null) void this.#loadConversation(hello);
  }

  /** Loads the earlier conversation for a new tab. */
  async #loadConversation(hello: Hello): Promise<void> {
    if (hello.session === null && !hello.readOnly) {
      this.#opening = this.#openFirstSession().catch((error: unknown) => this.#failed(error));
    }
    await this.#opening;
    await this.refresh();
  }

  async #openFirstSession(): Promise<void> {
    await this.dialect.openFirstSession?.((call) => this.sendCommand(call));
  }

  /** Queries the complete state from the agent. */
  async refresh(): Promise<void> {
    this.#refreshing++;
    await this.queryOptional("state");
    await this.queryOptional("history");
    this.#refreshing--;
    await Promise.all(
      (["models", "commands", "forkPoints", "stats", "thinkingLevels"] as const).map((action) => this.queryOptional(action)),
    );
  }

  /** Queries the available sessions. */
  async listSessions(): Promise<void> {
    const { parseSessions } = this.dialect;
    if (parseSessions === undefined) return this.link.requestServer("sessions");
    const done = await this.try("sessions");
    if (done !== undefined) this.#set({ sessions: parseSessions(done.data) });
  }

  /** Carries out an action that replaces the session or its messages. */
  async replaceSession<K extends "newSession" | "openSession" | "compact">(action: K, ...args: ActionArguments[K]): Promise<void> {
    if ((await this.try(action, ...args)) !== undefined) await this.refresh();
  }

  /** Changes a setting that is part of the state. */
  async change<K extends "setModel" | "setThinking">(action: K, ...args: ActionArguments[K]): Promise<void> {
    await this.try(action, ...args);
    await this.queryOptional("state");
  }

  async rename(name: string): Promise<void> {
    await this.try("rename", name);
    await this.queryOptional("state");
  }

  /**
   * Forks the session at a message. In dialects that fork only at user messages, the agent returns the
   * message's text for editing.
   */
  async forkAt(message: Message): Promise<void> {
    if (!this.dialect.forkReturnsText) {
      if (message.id === undefined) return this.toast("warning", "The agent does not report the entry of this message.");
      return this.fork(message.id);
    }
    await this.queryOptional("forkPoints");
    const userMessages = this.conversation.messages.filter(({ role }) => role === "user");
    const fromEnd = userMessages.length - userMessages.findIndex(({ key }) => key === message.key);
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
    if (cancelled === true) return this.toast("info", "An extension cancelled the fork.");
    if (typeof text === "string") this.draft(text);
    await this.refresh();
  }

  /** Puts a text into the input field. */
  draft(text: string): void {
    this.#set({ draft: { text, count: (this.page.draft?.count ?? 0) + 1 } });
  }

  /** Reopens the last session after a restart of the agent, if that session was stored. */
  async #resume(): Promise<void> {
    const { file = "", id = "" } = this.#lastSession;
    const isKept = (this.dialect.opensBy === "file" ? file : id) !== "" && this.unavailableReason("openSession") === undefined;
    this.#opening = isKept ? this.#execute("openSession", [file, id]) : this.#openFirstSession().catch(() => undefined);
    await this.#opening;
    this.link.requestServer("resumed");
    await this.refresh();
  }

  #withdraw(id: unknown): void {
    const { spec } = this.link;
    // When a question is answered, the fold removes it.
    const frame = spec?.dialogFrames
      ? { type: spec.dialogFrames.answer, id, cancelled: true }
      : { jsonrpc: "2.0", id, result: {} };
    this.#fold("sent", JSON.stringify(frame));
  }

  /** Returns the reason why an action is unavailable; `undefined` if it is available. */
  unavailableReason(action: Action): string | undefined {
    const { hello, missing } = this.page;
    const name = hello?.dialect ?? "";
    const command = this.dialect.actions[action]?.command;
    if (command === undefined) return `the ${name} dialect has no command for it`;
    if (this.#revision?.has(command) === false) return `the revision of ${name} that this agent speaks has no “${command}”`;
    if (missing.has(command)) return `this agent does not support “${command}”`;
    if (this.link.spec !== undefined && !Object.hasOwn(this.link.spec.commands, command)) {
      return `the ${name} dialect has no command for it`;
    }
    if (hello?.deny.includes(command)) return `“${command}” is denied: agentese web was started with --deny`;
    const reads = this.link.spec?.commands[command]?.reads === true;
    return hello?.readOnly && !reads ? "agentese web was started with --read-only" : undefined;
  }

  /** Unavailable actions with their reasons. */
  get unavailableActions(): { title: string; reason: string }[] {
    return Object.entries(TITLES).flatMap(([action, title]) => {
      const reason = this.unavailableReason(action as Action);
      return reason === undefined ? [] : [{ title, reason }];
    });
  }

  sendCommand(call: Call): Promise<unknown> {
    return this.link.call(call.command, call.params);
  }

  /**
   * Carries out an action as soon as no session is being opened. Returns the data of the response. If the
   * action fails, displays the reason and returns `undefined`.
   */
  async try<K extends Action>(action: K, ...args: ActionArguments[K]): Promise<{ data: unknown } | undefined> {
    let seen;
    // Another opening may have started in the meantime.
    do await (seen = this.#opening);
    while (seen !== this.#opening);
    return this.#execute(action, args);
  }

  async #execute<K extends Action>(action: K, args: ActionArguments[K]): Promise<{ data: unknown } | undefined> {
    const command = this.dialect.actions[action];
    if (command === undefined) return undefined;
    try {
      return { data: await this.sendCommand({ command: command.command, params: command.params(...args, this.conversation) }) };
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

  /** Queries data that the page does not require. Of the failures, only an unknown command is reported. */
  async queryOptional(action: "state" | "history" | "models" | "commands" | "forkPoints" | "stats" | "tree" | "thinkingLevels"): Promise<void> {
    if (this.unavailableReason(action) !== undefined) return;
    const command = this.dialect.actions[action];
    if (command === undefined) return;
    try {
      const data = await this.sendCommand({ command: command.command, params: command.params(this.conversation) });
      if (action === "tree") this.#set({ tree: data });
      if (action === "stats") this.#set({ stats: data });
      if (action === "thinkingLevels") this.#set({ levels: textsIn((data as { levels?: unknown } | null | undefined)?.levels) });
    } catch (error) {
      if (error instanceof CallError && error.isUnknown) this.#failed(error);
    }
  }
}

/** Returns the strings in a list; `undefined` if the value is not a list. */
function textsIn(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
}

/** Returns the text of a message. */
export function textOf(message: Message): string {
  return message.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
}

/**
 * Returns the conversation after the end of its agent. The state is idle, and messages in progress are marked
 * as aborted.
 */
function interruptedConversation(view: View): Conversation {
  const snapshot = view.snapshot();
  const messages = snapshot.messages.map((message) => (message.state === "growing" ? { ...message, state: "aborted" as const } : message));
  const run = { state: "idle", working: false, aborting: false } as const;
  return { ...snapshot, messages, run, dialogs: [], shells: [], waiting: [] };
}
