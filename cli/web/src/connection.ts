/** Connection to the server of the page: frames of the agent, and messages of the server. */

import { type FailureKind, type Spec, failureKind } from "agentese";

import { prettyJson } from "./text/json.js";

/** First message of the server to a tab. */
export interface Hello {
  readonly agentese: "hello";
  readonly version: string;
  /** `true` if the tab continues an earlier connection. */
  readonly back: boolean;
  /** `true` if the server no longer has the messages that the tab missed. */
  readonly lost: boolean;
  readonly dialect: string;
  /** Revision of the dialect, if the server was started with one. */
  readonly revision: string | null;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly ended: EndedMessage | null;
  readonly running: boolean;
  /** Session that the other tabs show, for agents with several sessions. */
  readonly session: string | null;
  readonly readOnly: boolean;
  readonly deny: readonly string[];
  /** Messages from before the connection: frames of the agent, and frames that other tabs sent. */
  readonly begun: readonly string[];
  /** Open questions with their age in milliseconds. */
  readonly questions: readonly { readonly line: string; readonly ago: number }[];
  /**
   * Number of open questions that `questions` does not contain. Only tabs that already show them can answer.
   */
  readonly unshown: number;
}

export interface EndedMessage {
  readonly agentese: "ended";
  readonly text: string;
  readonly stderr: string;
  /** `true` if the server restarts the agent. */
  readonly restarts: boolean;
}

/** Returns a phrase, without a period, that describes the end of the agent. */
export function endedText({ text }: EndedMessage): string {
  return `The agent ${text.startsWith("killed") ? "was " : ""}${text}`;
}

/** Session that can be opened. */
export interface SessionInfo {
  readonly path: string;
  readonly id: string;
  readonly cwd?: string;
  readonly modified: string;
  readonly messageCount?: number;
  readonly name?: string;
  readonly firstMessage?: string;
}

/** Message of the server that is not a frame of the agent. */
export type ServerMessage =
  | Hello
  | EndedMessage
  | { readonly agentese: "started"; readonly resume: boolean }
  | { readonly agentese: "resumed" }
  | { readonly agentese: "withdrawn"; readonly id: unknown }
  | { readonly agentese: "sent" | "told"; readonly line: string }
  | { readonly agentese: "noise"; readonly line: string; readonly error: string }
  | { readonly agentese: "refused"; readonly error: string }
  | { readonly agentese: "sessions"; readonly sessions: readonly SessionInfo[] }
  | { readonly agentese: "reload" };

/** Error of a command that the agent or the server rejected, or that received no response. */
export class CallError extends Error {
  override readonly name = "CallError";
  constructor(
    readonly command: string,
    message: string,
    /** Kind of the documented failure. */
    readonly kind?: FailureKind,
  ) {
    super(message);
  }

  /** `true` if the command is unknown to the agent. */
  get isUnknown(): boolean {
    return this.kind === "unknown_command";
  }
}

/** Receiver of frames and of messages of the server. */
export interface Listener {
  message(message: ServerMessage): void;
  /** Receives a line in either direction. `isOtherTab` is `true` if another tab sent the line. */
  frame(direction: "sent" | "received", line: string, isOtherTab: boolean): void;
  state(connected: boolean): void;
}

interface PendingCall {
  readonly number: number;
  readonly command: string;
  readonly line: string;
  /** `true` if the line was sent; `false` while the call waits for a connection. */
  sent: boolean;
  resolve(data: unknown): void;
  reject(error: Error): void;
}

/** Prefix of every message of the server. */
const SERVER_MESSAGE_PREFIX = '{"agentese":';
/** Pauses between attempts to connect in milliseconds. */
const RECONNECT_DELAYS = [200, 500, 1000, 2000, 4000];

/** Connection that reconnects automatically. It holds the pending calls. */
export class ServerConnection {
  readonly #listener: Listener;
  readonly #address: string;
  #tab = newTabId();
  #socket: WebSocket | undefined;
  #receivedCount: number | undefined;
  #attempts = 0;
  /** Number of calls so far. */
  #calls = 0;
  #pending = new Map<string, PendingCall>();
  /**
   * Answers to questions that the server may not have received. `after` is the number of the last call before
   * the answer. An answer is dropped when a later call is settled.
   */
  #answers: { readonly after: number; readonly line: string }[] = [];
  /** Tables of the dialect that the server reports. */
  spec: Spec | undefined;

  constructor(listener: Listener) {
    this.#listener = listener;
    this.#address = new URL("ws", location.href).href.replace(/^http/, "ws").replace(/[?#].*$/, "");
  }

  /** Connects, and reconnects after each loss of the connection. */
  open(): void {
    const have = this.#receivedCount === undefined ? "" : `&have=${this.#receivedCount}`;
    const socket = new WebSocket(`${this.#address}?tab=${this.#tab}&all=1${have}`);
    this.#socket = socket;
    let greeted = false;
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      if (!greeted) {
        greeted = true;
        this.#attempts = 0;
        this.#handleHello(JSON.parse(data) as Hello);
        return;
      }
      this.#receivedCount = (this.#receivedCount ?? 0) + 1;
      this.#handleMessage(data);
    };
    socket.onclose = () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#listener.state(false);
      setTimeout(() => this.open(), RECONNECT_DELAYS[Math.min(this.#attempts++, RECONNECT_DELAYS.length - 1)]);
    };
  }

  /** Fails all calls, and connects again as a new tab without a history. */
  restart(): void {
    const old = this.#socket;
    this.#socket = undefined;
    this.#tab = newTabId();
    this.#receivedCount = undefined;
    this.fail("the page starts over");
    old?.close();
    this.open();
  }

  /** Drops the connection like a network failure. For tests. */
  drop(): void {
    this.#socket?.close();
  }

  #handleHello(hello: Hello): void {
    if (hello.lost) this.fail("the connection was lost for too long");
    if (!hello.back) this.#receivedCount = 0;
    this.#listener.state(true);
    this.#listener.message(hello);
    // A repetition is harmless: the server runs a command once, and only the first answer to a question
    // applies.
    if (hello.back) for (const { line } of this.#answers) this.#socket?.send(line);
    for (const call of this.#pending.values()) if (hello.back || !call.sent) call.sent = this.#send(call.line);
  }

  #handleMessage(data: string): void {
    if (!data.startsWith(SERVER_MESSAGE_PREFIX)) {
      this.#listener.frame("received", data, false);
      return this.#settle(data);
    }
    const message = JSON.parse(data) as ServerMessage;
    if (message.agentese === "reload") return this.restart();
    if (message.agentese === "ended") this.fail("the agent has ended");
    if (message.agentese === "sent") this.#listener.frame("sent", message.line, true);
    else if (message.agentese === "told") this.#listener.frame("received", message.line, true);
    else this.#listener.message(message);
  }

  /** Returns the frames in messages that the server stored for new tabs, each with its direction. */
  storedFrames(messages: readonly string[]): ["sent" | "received", string][] {
    return messages.map((message) => {
      if (!message.startsWith(SERVER_MESSAGE_PREFIX)) return ["received", message];
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
    // The ids that this page assigns are strings.
    const call = typeof id === "string" ? this.#pending.get(id) : undefined;
    if (typeof id !== "string" || call === undefined) return;
    this.#pending.delete(id);
    // The agent has also received all lines before that call.
    this.#answers = this.#answers.filter(({ after }) => after >= call.number);
    const failed = isRpc ? "error" in frame : frame["success"] !== true;
    if (failed) call.reject(this.#callError(call.command, frame));
    else call.resolve(isRpc ? frame["result"] : frame["data"]);
  }

  #callError(command: string, { command: named, error }: Record<string, unknown>): CallError {
    const text = errorText(error);
    const code = (error as { code?: unknown } | null | undefined)?.code;
    const details = [typeof named === "string" ? named : undefined, text, typeof code === "number" ? code : undefined] as const;
    return new CallError(command, text, this.spec && failureKind(this.spec, ...details));
  }

  /** Returns the id of the oldest call to which a failure without an id can belong. */
  #oldest(command: unknown): string | undefined {
    const calls = [...this.#pending];
    const isAny = command === this.spec?.parseCommand || command === undefined;
    return (isAny ? calls[0] : calls.find(([, call]) => call.command === command))?.[0];
  }

  /** Sends a command. Returns the data of its response. */
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
      this.#pending.set(id, { number, command, line, sent: this.#send(line), resolve, reject });
    });
  }

  /** Sends a line. Returns `false` without a connection. */
  #send(line: string): boolean {
    const isOpen = this.#socket?.readyState === WebSocket.OPEN;
    if (isOpen) this.#socket?.send(line);
    return isOpen;
  }

  /** Answers a question of the agent. Without a connection, the answer is sent after the reconnection. */
  answer(frame: object): void {
    const line = JSON.stringify(frame);
    this.#answers.push({ after: this.#calls, line });
    this.#listener.frame("sent", line, false);
    this.#send(line);
  }

  /** Sends a request that the server itself handles. Without a connection, the request is dropped. */
  requestServer(what: "sessions" | "restart" | "resumed"): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ agentese: what }));
  }

  /** Fails all calls and drops the answers to questions. */
  fail(reason: string): void {
    this.#answers = [];
    const calls = [...this.#pending.values()];
    this.#pending.clear();
    for (const call of calls) call.reject(new CallError(call.command, reason));
  }
}

/** Returns the members of a frame; an empty object if the line is not an object. */
export function membersOf(line: string): Record<string, unknown> {
  const value: unknown = JSON.parse(line);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function newTabId(): string {
  return crypto.randomUUID().slice(0, 18).replaceAll("-", "");
}

function errorText(error: unknown): string {
  if (typeof error === "string") return error;
  const message = (error as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message : prettyJson(error);
}
