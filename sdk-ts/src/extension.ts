/**
 * Library for extensions. An extension is a program that the agent starts, with commands, tools and handlers
 * of events.
 *
 *     const extension = new Extension("hello");
 *     extension.command({ name: "hello", description: "Says hello" }, async (_args, context) => {
 *       const name = await context.input("Your name");
 *       context.notify(`Hello, ${name ?? "whoever you are"}!`);
 *     });
 *     await extension.run();
 *
 * Handlers run side by side, so that one may wait for the user while others work. See
 * docs/reference/extensions.md for the protocol. This single file needs only Node.js.
 */

import { AsyncLocalStorage } from "node:async_hooks";

import type {
  CancelAnswer, CompactionResult, DeliverAs, ExtensionFrame, ExtensionMessage, HookAnswers, HookEvent, HostAnswers,
  HostCommand, HostEvent, HostFrame, HostInitialize, HostState, HostTool, InputAnswer, InputContent, JsonObject,
  JsonValue, LogLevel, NotifyType, OfferedCommand, OfferedExtension, OfferedFlag, OfferedTool, ProtocolVersion,
  SessionEntries, ThinkingLevel, ToolCallAnswer, ToolProgress, ToolResult, WidgetPlacement,
} from "./generated/extension.js";

export type * from "./generated/extension.js";

const PROTOCOL: ProtocolVersion = 1;
/** Time limit of running handlers after the agent has closed the connection, in milliseconds. */
const SHUTDOWN_GRACE_MS = 500;

/** Name of an event. */
export type EventType = HookEvent["type"];
/** Event with that name. */
export type EventOf<T extends EventType> = Extract<HookEvent, { type: T }>;
/** Possible answer of a handler of that event. */
export type AnswerOf<T extends EventType> = T extends keyof HookAnswers ? HookAnswers[T] : undefined;

type Awaitable<T> = T | Promise<T>;
/** Handler of an event. Its return value is the answer. */
export type EventHandler<T extends EventType> = (event: EventOf<T>, context: Context) => Awaitable<AnswerOf<T> | void>;
/** Handler of a command; `args` is the text after its name. */
export type CommandHandler = (args: string, context: CommandContext) => Awaitable<void>;
/** Shows the progress of a tool, in place of the previous progress. */
export type ToolUpdate = (content: string | ToolProgress["content"], details?: JsonValue) => void;
/** Handler of a tool call; returns a text or a whole result. */
export type ToolHandler<P> = (params: P, context: Context, update: ToolUpdate) => Awaitable<ToolResult | string | void>;

/** Options of a dialog. */
export interface DialogOptions {
  /** Time limit in milliseconds; no limit by default. */
  timeout?: number;
  /**
   * Withdraws the dialog, with the result of a dismissed dialog. If the signal is already aborted, no dialog
   * appears.
   */
  signal?: AbortSignal;
}

/** The agent rejected a request; `message` is the text of the agent. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
}

/** The agent has closed the connection. */
export class EndedError extends Error {
  override readonly name = "EndedError";
  override readonly message = "the agent has closed the connection";
}

/** Request of the agent in progress; without an id the agent does not await an answer. */
interface ActiveRequest {
  readonly id?: string;
  readonly controller: AbortController;
  open: boolean;
}

type FrameType = ExtensionFrame["type"];
/** Members of a frame without its envelope. Optional members may be `undefined`, because JSON omits them. */
type Members<T extends FrameType> = WithUndefined<Omit<Extract<ExtensionFrame, { type: T }>, "type" | "extension">>;
type RequestMembers<T extends FrameType> = Omit<Members<T>, "id">;
type WithUndefined<T> = { [K in keyof T]: object extends Pick<T, K> ? T[K] | undefined : T[K] };
type ResultOf<T> = T extends keyof HostAnswers ? NonNullable<HostAnswers[T]> : undefined;

/** Writer of outgoing frames. It also matches responses with requests. */
class HostConnection {
  readonly currentRequest = new AsyncLocalStorage<ActiveRequest>();
  host: HostInitialize | undefined;
  #waiting = new Map<string, { resolve(result: never): void; reject(error: Error): void }>();
  #last = 0;
  #ended = false;
  readonly #write: (line: string) => void;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  send<T extends FrameType>(type: T, members: Members<T>): void {
    this.#write(`${JSON.stringify({ type, ...members })}\n`);
  }

  request<T extends FrameType>(type: T, members: RequestMembers<T>, id = this.nextId()): Promise<ResultOf<T>> {
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(new EndedError());
      this.#waiting.set(id, { resolve, reject });
      this.send(type, { ...members, id } as unknown as Members<T>);
    });
  }

  nextId(): string {
    return `q${++this.#last}`;
  }

  settle({ id, result, error }: Extract<HostFrame, { type: "response" }>): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result as never);
    else waiting?.reject(new RefusedError(error));
  }

  end(): void {
    this.#ended = true;
    this.#waiting.forEach(({ reject }) => reject(new EndedError()));
    this.#waiting.clear();
  }
}

/**
 * Methods that a handler uses to communicate with the agent. Open dialogs of the handler end together with
 * it.
 */
export class Context {
  /** Aborted when the agent no longer waits for the handler: after an abort of the run or the time limit. */
  readonly signal: AbortSignal;
  /** @internal */
  protected readonly connection: HostConnection;
  readonly #request: ActiveRequest;

  /** @internal */
  constructor(connection: HostConnection, request: ActiveRequest) {
    this.signal = request.controller.signal;
    this.connection = connection;
    this.#request = request;
  }

  /** Working directory of the agent. */
  get cwd(): string {
    return this.connection.host?.cwd ?? process.cwd();
  }
  /** `true` if a user can answer dialogs. */
  get hasUI(): boolean {
    return this.connection.host?.hasUI ?? false;
  }

  /** Prompts the user to choose an option; returns `undefined` if the user dismisses the dialog. */
  async select<T extends string>(title: string, options: readonly T[], how?: DialogOptions): Promise<T | undefined> {
    const answer = await this.#dialog("select", { title, options: [...options], timeout: limit(how) }, how);
    return answer?.value as T | undefined;
  }
  /** Prompts the user for yes or no; returns `false` if the user dismisses the dialog. */
  async confirm(title: string, message: string, how?: DialogOptions): Promise<boolean> {
    return (await this.#dialog("confirm", { title, message, timeout: limit(how) }, how))?.confirmed ?? false;
  }
  /** Prompts the user for a line of text; returns `undefined` if the user dismisses the dialog. */
  async input(title: string, placeholder?: string, how?: DialogOptions): Promise<string | undefined> {
    return (await this.#dialog("input", { title, placeholder, timeout: limit(how) }, how))?.value;
  }
  /** Opens an editor; returns `undefined` if the user dismisses it. */
  async editor(title: string, prefill?: string, how?: DialogOptions): Promise<string | undefined> {
    // The agent has no time limit for editors, so this library withdraws the dialog.
    return (await this.#dialog("editor", { title, prefill }, how, limit(how)))?.value;
  }

  /** Shows a notice. */
  notify(message: string, notifyType?: NotifyType): void {
    this.connection.send("notify", { message, notifyType });
  }
  /** Sets an entry of the status bar, or clears it. */
  setStatus(key: string, text?: string): void {
    this.connection.send("set_status", { key, text });
  }
  /** Sets a block of lines beside the editor, or clears it. */
  setWidget(key: string, lines?: readonly string[], placement?: WidgetPlacement): void {
    this.connection.send("set_widget", { key, lines: lines && [...lines], placement });
  }
  /** Sets the title of the window. */
  setTitle(title: string): void {
    this.connection.send("set_title", { title });
  }
  /** Puts text into the input editor. */
  setEditorText(text: string): void {
    this.connection.send("set_editor_text", { text });
  }
  /** Writes a line into the agent's log. */
  log(level: LogLevel, message: string): void {
    this.connection.send("log", { level, message });
  }

  /** Adds a message with a custom type to the conversation; it is displayed unless `display` is `false`. */
  async sendMessage(
    message: Omit<ExtensionMessage, "display"> & { display?: boolean },
    how: { triggerTurn?: boolean; deliverAs?: DeliverAs } = {},
  ): Promise<void> {
    await this.connection.request("send_message", { message: { display: true, ...message }, ...how });
  }
  /** Sends a message as user input. The client receives the events of the run. */
  sendUserMessage(content: InputContent, deliverAs?: "steer" | "followUp"): void {
    this.connection.send("send_user_message", { content, deliverAs });
  }
  /** Stores an entry in the session that is invisible to the model. */
  async appendEntry(customType: string, data?: JsonValue): Promise<void> {
    await this.connection.request("append_entry", { customType, data });
  }
  /** Sets the name of the session. */
  async setSessionName(name: string): Promise<void> {
    await this.connection.request("set_session_name", { name });
  }
  /** Labels an entry of the session, or removes its label. */
  async setLabel(entryId: string, label?: string): Promise<void> {
    await this.connection.request("set_label", { entryId, label });
  }
  /** Sets the tools that the model can call. */
  async setActiveTools(tools: readonly string[]): Promise<void> {
    await this.connection.request("set_active_tools", { tools: [...tools] });
  }
  /** Selects another model; returns `false` if the model does not exist. */
  async setModel(provider: string, modelId: string): Promise<boolean> {
    return (await this.connection.request("set_model", { provider, modelId })).found;
  }
  /** Sets the thinking level of the model. */
  async setThinkingLevel(level: ThinkingLevel): Promise<void> {
    await this.connection.request("set_thinking_level", { level });
  }
  /** Aborts the work of the agent. */
  async abort(): Promise<void> {
    await this.connection.request("abort", {});
  }
  /** Ends the agent as soon as it is idle. */
  async shutdown(): Promise<void> {
    await this.connection.request("shutdown", {});
  }
  /** Compacts the conversation and returns the result. */
  compact(customInstructions?: string): Promise<CompactionResult> {
    return this.connection.request("compact", { customInstructions });
  }
  /** Returns the state of the agent. */
  state(): Promise<HostState> {
    return this.connection.request("get_state", {});
  }
  /** Returns the entries of the session. */
  entries(): Promise<SessionEntries> {
    return this.connection.request("get_entries", {});
  }

  async #dialog<T extends "select" | "confirm" | "input" | "editor">(
    type: T,
    members: Omit<RequestMembers<T>, "during">,
    how: DialogOptions | undefined,
    patience?: number,
  ): Promise<ResultOf<T> | undefined> {
    if (how?.signal?.aborted === true) return undefined;
    const question = this.connection.nextId();
    const withdraw = (): void => this.connection.send("withdraw", { question });
    const timer = patience === undefined ? undefined : setTimeout(withdraw, patience);
    how?.signal?.addEventListener("abort", withdraw, { once: true });
    try {
      return await this.connection.request(type, { ...members, during: this.#during() } as unknown as RequestMembers<T>, question);
    } finally {
      clearTimeout(timer);
      how?.signal?.removeEventListener("abort", withdraw);
    }
  }

  /**
   * Returns the id of the request that a new dialog belongs to. A context that outlives its request uses the
   * current request.
   */
  #during(): string | undefined {
    return [this.#request, this.connection.currentRequest.getStore()].find((each) => each?.open)?.id;
  }
}

/**
 * Context for handlers of commands. Only these can wait for later work of the agent; a handler of an event
 * would block the work that it is part of.
 */
export class CommandContext extends Context {
  /** Waits until the agent is idle. */
  async waitForIdle(): Promise<void> {
    await this.connection.request("wait_for_idle", {});
  }
  /** Starts a new session; returns `false` if an extension prevented it. */
  async newSession(parentSession?: string): Promise<boolean> {
    return !(await this.connection.request("new_session", { parentSession })).cancelled;
  }
  /** Forks the session before a user message; returns `false` if an extension prevented it. */
  async fork(entryId: string): Promise<boolean> {
    return !(await this.connection.request("fork", { entryId })).cancelled;
  }
  /** Switches to another session; returns `false` if an extension prevented it. */
  async switchSession(path: string): Promise<boolean> {
    return !(await this.connection.request("switch_session", { path })).cancelled;
  }
}

/**
 * Extension with its commands, tools and handlers. Register them, then call `run`. A process contains one
 * extension.
 */
export class Extension {
  static #exists = false;
  readonly #connection: HostConnection;
  readonly #name: string | undefined;
  readonly #commands = new Map<string, { offer: OfferedCommand; handler: CommandHandler }>();
  readonly #tools = new Map<string, { offer: OfferedTool; handler: ToolHandler<never> }>();
  readonly #flags = new Map<string, OfferedFlag>();
  readonly #handlers = new Map<string, ((event: never, context: Context) => unknown)[]>();
  readonly #running = new Map<string, ActiveRequest>();
  #isServing = false;
  #loadError: string | undefined;

  /** Creates an extension and claims stdout for frames. Further output of the program goes to stderr. */
  constructor(name?: string) {
    if (Extension.#exists) throw new Error("this process already has an extension");
    Extension.#exists = true;
    this.#name = name;
    for (const event of ["uncaughtException", "unhandledRejection"] as const) {
      process.on(event, (error: unknown) => this.#uncaught(error));
    }
    // The agent may exit before an answer is written.
    process.stdout.on("error", () => undefined);
    this.#connection = new HostConnection(process.stdout.write.bind(process.stdout));
    // Accidental output of the program must not appear between frames.
    process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  }

  /**
   * Context for code outside of handlers, such as helpers and timers. Within a handler, its dialogs belong
   * to that handler.
   */
  get context(): Context {
    return new Context(this.#connection, this.#connection.currentRequest.getStore() ?? { controller: new AbortController(), open: false });
  }

  /** Adds a slash command. */
  command(offer: OfferedCommand, handler: CommandHandler): void {
    this.#add(this.#commands, "command", offer.name, { offer, handler });
  }

  /**
   * Adds a tool for the model. The agent validates arguments against `parameters`; `P` is the corresponding
   * type.
   */
  tool<P = JsonObject>(offer: OfferedTool, handler: ToolHandler<P>): void {
    this.#add(this.#tools, "tool", offer.name, { offer, handler });
  }

  /** Adds a command-line flag. */
  flag(offer: OfferedFlag): void {
    this.#add(this.#flags, "flag", offer.name, offer);
  }

  /** Returns the value of a flag on the command line, or its default. */
  async flagValue(name: string): Promise<JsonValue | undefined> {
    return (await this.context.state()).flags?.[name] ?? this.#flags.get(name)?.default;
  }

  /**
   * Subscribes to an event. Several handlers of one event run in order, and the last answer wins. After an
   * answer that blocks, cancels or handles the event, no further handler runs.
   */
  on<T extends EventType>(type: T, handler: EventHandler<T>): void {
    this.#handlers.set(type, [...(this.#handlers.get(type) ?? []), handler]);
    this.#registerAgain();
  }

  /** Serves the agent until it closes the connection. Afterwards the process ends within half a second. */
  async run(): Promise<void> {
    if (process.stdin.isTTY) {
      throw new Error("an extension must be started by an agent, which uses its stdin and stdout");
    }
    this.#isServing = true;
    let rest = "";
    process.stdin.setEncoding("utf8");
    try {
      for await (const chunk of process.stdin) {
        // Only LF ends a line.
        const [first = "", ...lines] = (chunk as string).split("\n");
        rest += first;
        for (const line of lines) {
          if (rest !== "") this.#line(rest);
          rest = line;
        }
      }
    } catch {
      // A broken connection is treated as the end of the input.
    }
    this.#running.forEach((handling) => handling.controller.abort(new EndedError()));
    this.#connection.end();
    setTimeout(() => process.exit(), SHUTDOWN_GRACE_MS).unref();
  }

  #add<T>(offers: Map<string, T>, kind: string, name: string, offer: T): void {
    if (offers.has(name)) throw new Error(`the ${kind} ${name} is already registered`);
    offers.set(name, offer);
    this.#registerAgain();
  }

  /** Registers commands, tools and flags again after a change. */
  #registerAgain(): void {
    if (this.#connection.host !== undefined) void this.#connection.request("register", { offered: this.#registration(this.#connection.host) });
  }

  #registration(host: HostInitialize): OfferedExtension {
    const path = host.extensions[0] ?? "";
    if (this.#loadError !== undefined) return { path, error: this.#loadError };
    return {
      path,
      ...(this.#name === undefined ? {} : { name: this.#name }),
      commands: [...this.#commands.values()].map(({ offer }) => offer),
      tools: [...this.#tools.values()].map(({ offer }) => offer),
      flags: [...this.#flags.values()],
      events: [...this.#handlers.keys()],
    };
  }

  #line(line: string): void {
    try {
      this.#frame(JSON.parse(line) as HostFrame);
    } catch (error) {
      this.#connection.send("log", { level: "error", message: `a frame was lost: ${messageOf(error)}` });
    }
  }

  #frame(frame: HostFrame): void {
    switch (frame.type) {
      case "initialize":
        this.#connection.host = frame;
        return this.#respond(frame.id, { protocol: PROTOCOL, extensions: [this.#registration(frame)] });
      case "response":
        return this.#connection.settle(frame);
      case "cancel":
        return this.#running.get(frame.id)?.controller.abort();
      case "event":
      case "command":
      case "tool":
        return void this.#handle(frame);
    }
  }

  async #handle(frame: HostEvent | HostCommand | HostTool): Promise<void> {
    const { id } = frame;
    const request: ActiveRequest = { ...(id === undefined ? {} : { id }), controller: new AbortController(), open: true };
    if (id !== undefined) this.#running.set(id, request);
    try {
      const result = await this.#connection.currentRequest.run(request, () => this.#dispatch(frame, request));
      this.#end(request);
      if (id !== undefined) this.#respond(id, result);
    } catch (error) {
      this.#end(request);
      if (id === undefined) return this.#reportFailure(frame.type === "event" ? frame.event.type : frame.type, error);
      this.#logStack(error);
      this.#connection.send("response", { id, error: messageOf(error) });
    }
  }

  #end(request: ActiveRequest): void {
    request.open = false;
    if (request.id !== undefined) this.#running.delete(request.id);
  }

  async #dispatch(frame: HostEvent | HostCommand | HostTool, request: ActiveRequest): Promise<unknown> {
    if (frame.type === "event") return this.#event(frame.event, new Context(this.#connection, request));
    if (frame.type === "command") {
      const command = this.#commands.get(frame.name);
      if (command === undefined) throw new Error(`unknown command ${frame.name}`);
      // The agent ignores the result of a command.
      return void (await command.handler(frame.args, new CommandContext(this.#connection, request)));
    }
    const tool = this.#tools.get(frame.name);
    if (tool === undefined) throw new Error(`unknown tool ${frame.name}`);
    const update: ToolUpdate = (shown, details) => {
      this.#connection.send("tool_update", { id: frame.id, content: contentOf(shown), details });
    };
    const result = (await tool.handler(frame.params as never, new Context(this.#connection, request), update)) ?? "";
    return typeof result === "string" ? { content: contentOf(result) } : result;
  }

  async #event(event: HookEvent, context: Context): Promise<unknown> {
    let answer: unknown;
    for (const handler of this.#handlers.get(event.type) ?? []) {
      answer = (await handler(event as never, context)) ?? answer;
      if (isFinal(answer)) break;
    }
    return answer;
  }

  #respond(id: string, result: unknown): void {
    this.#connection.send("response", { id, result: result as JsonValue | undefined });
  }

  /**
   * Reports an uncaught error. If `run` was not called yet, the agent receives it as the reason for the
   * failed load.
   */
  #uncaught(error: unknown): void {
    if (this.#isServing) return this.#reportFailure("uncaught", error);
    console.error(error);
    this.#loadError = messageOf(error);
    if (process.stdin.isTTY) process.exitCode = 1;
    else void this.run();
  }

  #reportFailure(event: string, failure: unknown): void {
    this.#logStack(failure);
    this.#connection.send("failed", { event, error: messageOf(failure) });
  }

  /** Logs the stack of an error. */
  #logStack(failure: unknown): void {
    const stack = failure instanceof Error ? failure.stack : undefined;
    if (stack !== undefined) this.#connection.send("log", { level: "debug", message: stack });
  }
}

function contentOf(shown: string | ToolProgress["content"]): ToolProgress["content"] {
  return typeof shown === "string" ? [{ type: "text", text: shown }] : shown;
}

/** Returns `true` if an answer ends the sequence of handlers. */
function isFinal(answer: unknown): boolean {
  const { block, cancel, action } = (answer ?? {}) as ToolCallAnswer & CancelAnswer & Partial<InputAnswer>;
  return block === true || cancel === true || action === "handled";
}

function limit(how: DialogOptions | undefined): number | undefined {
  const timeout = how?.timeout;
  if (timeout === undefined || (timeout > 0 && Number.isFinite(timeout))) return timeout && Math.ceil(timeout);
  throw new RangeError(`a timeout is a number of milliseconds above 0, not ${timeout}`);
}

function messageOf(failure: unknown): string {
  return failure instanceof Error && failure.message !== "" ? failure.message : String(failure);
}
