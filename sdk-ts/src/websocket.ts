/** Agents behind a WebSocket, with one message per frame. For browsers and all platforms with `WebSocket`. */

import { UsageError } from "./error.js";
import { pause } from "./timer.js";
import type { Transport } from "./transport.js";

/** Members of a platform's WebSocket that this module uses. The class of the package `ws` fits too. */
export interface Socket {
  readonly readyState: number;
  readonly bufferedAmount: number;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

/** Options of a connection. */
export interface WebSocketOptions {
  /** Class of sockets for platforms without `WebSocket`, such as Node.js 20. */
  readonly WebSocket?: new (address: string) => Socket;
  /** Time limit for reconnecting, in milliseconds: 60 000 by default, 0 disables it. */
  readonly reconnectTimeout?: number;
}

/** Limit of buffered bytes in the socket, beyond which writes wait. */
const MAX_BUFFERED = 1024 * 1024;
/** Interval between checks of a full socket in milliseconds, because the platform has no event for it. */
const POLL_INTERVAL = 10;
/** Pauses between attempts in milliseconds. */
const RECONNECT_DELAYS = [200, 500, 1000, 2000, 4000];
const OPEN = 1;
/** Prefix of the keys of answers among the unsettled lines. */
const ANSWER_PREFIX = "answer ";
/** Maximum number of stored ids of questions. A line with the id of a question is an answer. */
const MAX_QUESTIONS = 1024;
/** Prefix of messages that a server of `agentese web` sends itself, in contrast to frames of the agent. */
const SERVER_MESSAGE_PREFIX = '{"agentese":';

/** Error if the connection cannot resume at its last position. */
const RELOAD_ERROR = "reload: the server no longer has the missed messages";

/**
 * Connects to an agent behind a WebSocket, for a client of its dialect. Resolves when the connection is open.
 *
 * A server of `agentese web` lets a client resume a lost connection. The transport sends the number of
 * received messages, and repeats all lines that may be lost: commands without a response, and answers to the
 * agent's questions. No command runs twice, and the first answer applies.
 *
 * If the server no longer has the missed messages, the transport fails with an error that begins with
 * `reload`. A new connection must then query history and state. Other servers end the transport when they
 * close the connection.
 *
 * ```ts
 * const client = new pi.Client(await connectWebSocket("ws://127.0.0.1:4711/TOKEN/ws"));
 * ```
 *
 * @throws UsageError The platform has no `WebSocket`, and the options pass no class.
 * @throws Error The connection is impossible.
 */
export async function connectWebSocket(address: string | URL, options: WebSocketOptions = {}): Promise<Transport> {
  const make = options.WebSocket ?? (globalThis as { WebSocket?: new (address: string) => Socket }).WebSocket;
  if (make === undefined) throw new UsageError("this platform has no WebSocket: pass one in, such as that of the package `ws`");
  const connection = new ReconnectingSocket(String(address), make, options.reconnectTimeout ?? 60_000);
  await connection.open();
  return { readable: connection.readable, writable: connection.writable };
}

/** Connection that outlives its sockets. */
class ReconnectingSocket {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  readonly #address: URL;
  readonly #make: new (address: string) => Socket;
  readonly #reconnectTimeout: number;
  readonly #encoder = new TextEncoder();
  readonly #name = crypto.randomUUID().replaceAll("-", "").slice(0, 24);
  #frames!: ReadableStreamDefaultController<Uint8Array>;
  #socket: Socket | undefined;
  /** Number of received messages, if the server can resume connections. */
  #receivedCount: number | undefined;
  /**
   * Lines that may be lost, in the order of sending. Commands are stored by their ids as JSON until the
   * response. Answers are stored by `ANSWER_PREFIX` and the question's id until the response to a later command.
   */
  readonly #unsettled = new Map<string, string>();
  /** Ids of the agent's own questions, newest last. */
  readonly #questions = new Set<string>();
  /** Callbacks of writes that wait for a socket. */
  readonly #waiting = new Set<() => void>();
  #isEnded = false;

  constructor(address: string, make: new (address: string) => Socket, reconnectTimeout: number) {
    this.#address = new URL(address);
    this.#make = make;
    this.#reconnectTimeout = reconnectTimeout;
    this.readable = new ReadableStream({ start: (controller) => void (this.#frames = controller), cancel: () => this.#end() });
    const decoder = new TextDecoder();
    let rest = "";
    this.writable = new WritableStream({
      write: async (chunk) => {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") await this.#send(line);
      },
      close: () => this.#end(),
      abort: () => this.#end(),
    });
  }

  /** Opens a socket. Fails if the connection is impossible. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => this.#connect(resolve, reject));
  }

  #connect(resolve: () => void, reject: (error: Error) => void): void {
    const address = new URL(this.#address);
    address.searchParams.set("tab", this.#name);
    if (this.#receivedCount !== undefined) address.searchParams.set("have", String(this.#receivedCount));
    const socket = new this.#make(address.href);
    let isOpen = false;
    let isFirst = true;
    socket.onopen = () => {
      if (this.#isEnded) return socket.close(1000);
      isOpen = true;
      this.#socket = socket;
      this.#wake();
      resolve();
    };
    socket.onmessage = ({ data }: { data: unknown }) => {
      if (typeof data !== "string" || this.#isEnded) return;
      const hello = isFirst ? parseGreeting(data) : undefined;
      const isContinued = !isFirst || this.#receivedCount === undefined;
      isFirst = false;
      if (hello !== undefined) this.#handleGreeting(hello);
      else if (isContinued) this.#handleMessage(data);
      // The server did not confirm the position.
      else this.#fail(RELOAD_ERROR);
    };
    socket.onerror = () => undefined;
    socket.onclose = () => {
      if (!isOpen) return reject(new Error(`cannot connect to ${this.#address.origin}`));
      if (this.#socket === socket) this.#handleClose();
    };
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #handleGreeting({ back, lost, begun, questions }: Hello): void {
    if (back !== true) {
      if (lost === true || this.#receivedCount !== undefined) return this.#fail(RELOAD_ERROR);
      this.#receivedCount = 0;
      for (const line of begun ?? []) this.#frame(line);
      for (const { line } of questions ?? []) this.#frame(line);
    } else {
      // A repetition is harmless: the server runs a command once, and only the first answer to a question
      // applies.
      for (const line of this.#unsettled.values()) this.#socket?.send(line);
    }
  }

  #handleMessage(data: string): void {
    if (this.#receivedCount !== undefined) this.#receivedCount += 1;
    if (this.#receivedCount === undefined || !data.startsWith(SERVER_MESSAGE_PREFIX)) return this.#frame(data);
    const { agentese } = JSON.parse(data) as { agentese: string };
    if (agentese === "reload") this.#fail(RELOAD_ERROR);
    else if (agentese === "ended") this.#end();
  }

  #frame(line: string): void {
    const { id, method } = readId(line);
    // In JSON-RPC each side numbers its own requests.
    if (id !== undefined && (method || !this.#settleCommand(id))) this.#rememberQuestion(id);
    this.#frames.enqueue(this.#encoder.encode(`${line}\n`));
  }

  #rememberQuestion(id: string): void {
    this.#questions.delete(id);
    this.#questions.add(id);
    for (const oldest of this.#questions) {
      if (this.#questions.size <= MAX_QUESTIONS) break;
      this.#questions.delete(oldest);
    }
  }

  /**
   * Settles the command with that id. Answers to questions that were sent before the command are settled as
   * well, because the agent has received them too. Returns `false` if no command with that id is pending.
   */
  #settleCommand(id: string): boolean {
    if (!this.#unsettled.has(id)) return false;
    for (const key of this.#unsettled.keys()) {
      if (key === id) break;
      if (key.startsWith(ANSWER_PREFIX)) this.#unsettled.delete(key);
    }
    return this.#unsettled.delete(id);
  }

  async #send(line: string): Promise<void> {
    const { id, method, isRpc } = readId(line);
    const isAnswer = id !== undefined && (isRpc ? !method : this.#questions.has(id));
    const key = isAnswer ? `${ANSWER_PREFIX}${id}` : id;
    for (;;) {
      const socket = this.#socket;
      if (this.#isEnded) throw new Error("the connection has ended");
      if (socket?.readyState === OPEN && socket.bufferedAmount <= MAX_BUFFERED) {
        if (key !== undefined) this.#unsettled.set(key, line);
        return socket.send(line);
      }
      if (socket?.readyState === OPEN) await pause(POLL_INTERVAL);
      else await new Promise<void>((resolve) => void this.#waiting.add(resolve));
    }
  }

  #handleClose(): void {
    this.#socket = undefined;
    if (this.#isEnded) return;
    if (this.#receivedCount === undefined) return this.#end();
    void this.#reconnect();
  }

  /** Tries to reconnect until the time limit. */
  async #reconnect(): Promise<void> {
    const until = Date.now() + this.#reconnectTimeout;
    for (let attempt = 0; Date.now() < until && !this.#isEnded; attempt++) {
      await pause(RECONNECT_DELAYS[Math.min(attempt, RECONNECT_DELAYS.length - 1)] ?? 0);
      if (await this.open().then(() => true, () => false)) return;
    }
    this.#fail("the connection was lost");
  }

  #fail(reason: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#frames.error(new Error(reason));
    this.#release();
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    try {
      this.#frames.close();
    } catch {
      // The reader has cancelled the stream.
    }
    this.#release();
  }

  #release(): void {
    this.#wake();
    this.#socket?.close(1000);
    this.#socket = undefined;
  }
}

/** Returns the greeting of a server of `agentese web`; `undefined` for any other message. */
function parseGreeting(data: string): Hello | undefined {
  if (!data.startsWith(SERVER_MESSAGE_PREFIX)) return undefined;
  try {
    const hello = JSON.parse(data) as Hello;
    return hello.agentese === "hello" ? hello : undefined;
  } catch {
    return undefined;
  }
}

/** First message of a server of `agentese web`, sent on each connection. */
interface Hello {
  readonly agentese: string;
  /** `true` if the connection resumes at its last position. */
  readonly back?: boolean;
  /** `true` if the server cannot resume as requested. */
  readonly lost?: boolean;
  /** Events of the current run so far. */
  readonly begun?: readonly string[];
  /** Questions of the agent that have no answer yet. */
  readonly questions?: readonly { readonly line: string }[];
}

/** Returns the id of a frame as JSON, and whether the frame has a method and whether it is JSON-RPC. */
function readId(line: string): { id?: string; method: boolean; isRpc: boolean } {
  const none = { method: false, isRpc: false };
  if (!line.includes('"id"')) return none;
  try {
    const frame = JSON.parse(line) as { id?: unknown; method?: unknown; jsonrpc?: unknown } | null;
    if (frame?.id === undefined || frame.id === null) return none;
    return { id: JSON.stringify(frame.id), method: frame.method !== undefined, isRpc: frame.jsonrpc !== undefined };
  } catch {
    return none;
  }
}
