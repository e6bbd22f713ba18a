/** The connection to the server behind the page: frames of the agent, and words of the server itself. */

import { type FailureKind, type Spec, failureKind } from "agentese";

import { laidOut } from "./text/json.js";

/** What the server says when a tab comes. */
export interface Hello {
  readonly agentese: "hello";
  readonly version: string;
  /** Whether the tab goes on where it was. */
  readonly back: boolean;
  /** Whether the tab was away for too long: what it missed is not kept. */
  readonly lost: boolean;
  readonly dialect: string;
  /** The revision of the dialect, where the server was told it. */
  readonly revision: string | null;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly ended: Ended | null;
  readonly running: boolean;
  /** The session that other tabs show, where the agent has several at a time. */
  readonly session: string | null;
  readonly readOnly: boolean;
  readonly deny: readonly string[];
  /** What happened before, as messages: events, and words about what other tabs did. */
  readonly begun: readonly string[];
  /** The questions that wait for an answer, and how long they do, in milliseconds. */
  readonly questions: readonly { readonly line: string; readonly ago: number }[];
  /** How many others wait, which only tabs that were there can answer. */
  readonly unshown: number;
}

export interface Ended {
  readonly agentese: "ended";
  readonly text: string;
  readonly stderr: string;
  /** Whether the server starts the agent again by itself. */
  readonly restarts: boolean;
}

/** How the agent ended, as a sentence without its point. */
export function endedText({ text }: Ended): string {
  return `The agent ${text.startsWith("killed") ? "was " : ""}${text}`;
}

/** A session that can be opened. */
export interface Listed {
  readonly path: string;
  readonly id: string;
  readonly cwd?: string;
  readonly modified: string;
  readonly messageCount?: number;
  readonly name?: string;
  readonly firstMessage?: string;
}

/** What the server says besides the agent's frames. */
export type Word =
  | Hello
  | Ended
  | { readonly agentese: "started"; readonly resume: boolean }
  | { readonly agentese: "resumed" }
  | { readonly agentese: "withdrawn"; readonly id: unknown }
  | { readonly agentese: "sent" | "told"; readonly line: string }
  | { readonly agentese: "noise"; readonly line: string; readonly error: string }
  | { readonly agentese: "refused"; readonly error: string }
  | { readonly agentese: "sessions"; readonly sessions: readonly Listed[] }
  | { readonly agentese: "reload" };

/** A command that the agent or the server refused, or that got no answer. */
export class CallError extends Error {
  override readonly name = "CallError";
  constructor(
    readonly command: string,
    message: string,
    /** Which documented failure it is. */
    readonly kind?: FailureKind,
  ) {
    super(message);
  }

  /** Whether the agent does not know the command at all. */
  get isUnknown(): boolean {
    return this.kind === "unknown_command";
  }
}

/** Who listens. */
export interface Listener {
  word(word: Word): void;
  /** A line went to the agent or came from it; `others` where another tab sent it. */
  frame(direction: "sent" | "received", line: string, others: boolean): void;
  state(connected: boolean): void;
}

interface Waiting {
  readonly number: number;
  readonly command: string;
  readonly line: string;
  /** Whether it went out: not where it was called while the page was connecting. */
  sent: boolean;
  resolve(data: unknown): void;
  reject(error: Error): void;
}

/** What begins every word of the server. */
const MARK = '{"agentese":';
/** The pauses between attempts to connect, in milliseconds. */
const PAUSES = [200, 500, 1000, 2000, 4000];

/** A connection that comes back by itself, with the calls that wait for answers. */
export class Link {
  readonly #listener: Listener;
  readonly #address: string;
  #tab = newName();
  #socket: WebSocket | undefined;
  #have: number | undefined;
  #attempts = 0;
  /** How many calls were made. */
  #calls = 0;
  #waiting = new Map<string, Waiting>();
  /** Answers to questions that may be lost, each with the number of the call before it: until a later call is settled. */
  #answers: { readonly after: number; readonly line: string }[] = [];
  /** The tables of the dialect, which the server names. */
  spec: Spec | undefined;

  constructor(listener: Listener) {
    this.#listener = listener;
    this.#address = new URL("ws", location.href).href.replace(/^http/, "ws").replace(/[?#].*$/, "");
  }

  /** Connects, and connects again whenever the connection is lost. */
  open(): void {
    const have = this.#have === undefined ? "" : `&have=${this.#have}`;
    const socket = new WebSocket(`${this.#address}?tab=${this.#tab}&all=1${have}`);
    this.#socket = socket;
    let greeted = false;
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      if (!greeted) {
        greeted = true;
        this.#attempts = 0;
        this.#greeted(JSON.parse(data) as Hello);
        return;
      }
      this.#have = (this.#have ?? 0) + 1;
      this.#heard(data);
    };
    socket.onclose = () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#listener.state(false);
      setTimeout(() => this.open(), PAUSES[Math.min(this.#attempts++, PAUSES.length - 1)]);
    };
  }

  /** Begins anew, as a tab that was never there. */
  restart(): void {
    const old = this.#socket;
    this.#socket = undefined;
    this.#tab = newName();
    this.#have = undefined;
    this.fail("the page begins anew");
    old?.close();
    this.open();
  }

  /** Drops the connection, as a network does that goes away. For tests. */
  drop(): void {
    this.#socket?.close();
  }

  #greeted(hello: Hello): void {
    if (hello.lost) this.fail("the connection was lost for too long");
    if (!hello.back) this.#have = 0;
    this.#listener.state(true);
    this.#listener.word(hello);
    // A command that has arrived before is not run again, and only the first answer to a question counts.
    if (hello.back) for (const { line } of this.#answers) this.#socket?.send(line);
    for (const call of this.#waiting.values()) if (hello.back || !call.sent) call.sent = this.#send(call.line);
  }

  #heard(data: string): void {
    if (!data.startsWith(MARK)) {
      this.#listener.frame("received", data, false);
      return this.#settle(data);
    }
    const word = JSON.parse(data) as Word;
    if (word.agentese === "reload") return this.restart();
    if (word.agentese === "ended") this.fail("the agent has ended");
    if (word.agentese === "sent") this.#listener.frame("sent", word.line, true);
    else if (word.agentese === "told") this.#listener.frame("received", word.line, true);
    else this.#listener.word(word);
  }

  /** The frames in messages that were kept for a tab that comes late, with their directions. */
  told(messages: readonly string[]): ["sent" | "received", string][] {
    return messages.map((message) => {
      if (!message.startsWith(MARK)) return ["received", message];
      const { agentese, line } = JSON.parse(message) as { agentese: string; line: string };
      return [agentese === "sent" ? "sent" : "received", line];
    });
  }

  #settle(line: string): void {
    const isRpc = this.spec?.framing === "json-rpc";
    if (!isRpc && !line.includes('"response"')) return;
    const frame = membersOf(line);
    if (isRpc ? "method" in frame : frame["type"] !== "response") return;
    const id = frame["id"] ?? this.#oldest(frame["command"]);
    // The ids of the page are texts.
    const call = typeof id === "string" ? this.#waiting.get(id) : undefined;
    if (typeof id !== "string" || call === undefined) return;
    this.#waiting.delete(id);
    // What was sent before that call has arrived, too.
    this.#answers = this.#answers.filter(({ after }) => after >= call.number);
    const failed = isRpc ? "error" in frame : frame["success"] !== true;
    if (failed) call.reject(this.#refused(call.command, frame));
    else call.resolve(isRpc ? frame["result"] : frame["data"]);
  }

  #refused(command: string, { command: named, error }: Record<string, unknown>): CallError {
    const text = errorText(error);
    const code = (error as { code?: unknown } | null | undefined)?.code;
    const told = [typeof named === "string" ? named : undefined, text, typeof code === "number" ? code : undefined] as const;
    return new CallError(command, text, this.spec && failureKind(this.spec, ...told));
  }

  /** Failures without an id belong to the oldest call that they can belong to. */
  #oldest(command: unknown): string | undefined {
    const calls = [...this.#waiting];
    const isAny = command === this.spec?.parseCommand || command === undefined;
    return (isAny ? calls[0] : calls.find(([, call]) => call.command === command))?.[0];
  }

  /** Sends a command. Gives the data of its answer. */
  call(command: string, params: object): Promise<unknown> {
    const number = ++this.#calls;
    const id = `${this.#tab}-${number}`;
    const frame =
      this.spec?.framing === "json-rpc"
        ? { jsonrpc: "2.0", id, method: command, params }
        : { id, type: command, ...params };
    const line = JSON.stringify(frame);
    return new Promise((resolve, reject) => {
      this.#listener.frame("sent", line, false);
      this.#waiting.set(id, { number, command, line, sent: this.#send(line), resolve, reject });
    });
  }

  /** Sends a line, where there is a connection; says whether there is. */
  #send(line: string): boolean {
    const isOpen = this.#socket?.readyState === WebSocket.OPEN;
    if (isOpen) this.#socket?.send(line);
    return isOpen;
  }

  /** Answers a question of the agent; where the connection is lost, when it is back. */
  answer(frame: object): void {
    const line = JSON.stringify(frame);
    this.#answers.push({ after: this.#calls, line });
    this.#listener.frame("sent", line, false);
    this.#send(line);
  }

  /** Asks the server itself. */
  ask(what: "sessions" | "restart" | "resumed"): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ agentese: what }));
  }

  /** Fails all calls, and forgets the answers to questions. */
  fail(reason: string): void {
    this.#answers = [];
    const calls = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const call of calls) call.reject(new CallError(call.command, reason));
  }
}

/** The members of a frame; none where the line is no object. */
export function membersOf(line: string): Record<string, unknown> {
  const value: unknown = JSON.parse(line);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function newName(): string {
  return crypto.randomUUID().slice(0, 18).replaceAll("-", "");
}

function errorText(error: unknown): string {
  if (typeof error === "string") return error;
  const message = (error as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message : laidOut(error);
}
