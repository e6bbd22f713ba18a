/** Agents behind a WebSocket: one message is one frame. For browsers, and every platform that has a `WebSocket`. */

import { UsageError } from "./error.js";
import { pause } from "./timer.js";
import type { Transport } from "./transport.js";

/** What is used of a platform's socket; the one of the package `ws` fits too. */
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

/** How a connection is made. */
export interface WebSocketOptions {
  /** The class of sockets, where the platform has no `WebSocket`, as Node.js 20. */
  readonly WebSocket?: new (address: string) => Socket;
  /** How long a lost connection is tried to be made again, in milliseconds: 60 000 without it, 0 is never. */
  readonly patience?: number;
}

/** How much may wait in the socket before writes wait, in bytes. */
const FULL = 1024 * 1024;
/** How often a full socket is looked at, in milliseconds: the platform tells nobody when it is empty. */
const LOOK = 10;
/** The pauses between attempts, in milliseconds. */
const PAUSES = [200, 500, 1000, 2000, 4000];
const OPEN = 1;
/** What begins the keys of answers among the lines that may be lost. */
const ANSWER = "answer ";
/** How many questions are remembered: lines with the id of one of them are answers. */
const QUESTIONS = 1024;
/** What begins every word of a server of `agentese web`, which is no frame of the agent. */
const MARK = '{"agentese":';

/** How a connection ends that cannot go on where it was. */
const RELOAD = "reload: the server no longer has what was missed";

/**
 * Connects to an agent behind a WebSocket, for a client of its dialect. Resolves when the connection stands.
 *
 * A server of `agentese web` lets a lost connection be taken up again: the transport says how many messages it has, and
 * sends again what may have been lost: commands without an answer, and answers to the agent's questions. No command runs
 * twice, and the first answer counts. Where the server no longer has what was missed, the transport fails with an error
 * that begins with `reload`: a new connection has to ask for history and state. Other servers end the transport when they
 * close the connection.
 *
 * ```ts
 * const client = new pi.Client(await connectWebSocket("ws://127.0.0.1:4711/TOKEN/ws"));
 * ```
 *
 * @throws UsageError The platform has no `WebSocket`, and none was passed in.
 * @throws Error The connection cannot be made.
 */
export async function connectWebSocket(address: string | URL, options: WebSocketOptions = {}): Promise<Transport> {
  const make = options.WebSocket ?? (globalThis as { WebSocket?: new (address: string) => Socket }).WebSocket;
  if (make === undefined) throw new UsageError("this platform has no WebSocket: pass one in, such as that of the package `ws`");
  const link = new Link(String(address), make, options.patience ?? 60_000);
  await link.open();
  return { readable: link.readable, writable: link.writable };
}

/** A connection that outlives its sockets. */
class Link {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  readonly #address: URL;
  readonly #make: new (address: string) => Socket;
  readonly #patience: number;
  readonly #encoder = new TextEncoder();
  readonly #name = crypto.randomUUID().replaceAll("-", "").slice(0, 24);
  #frames!: ReadableStreamDefaultController<Uint8Array>;
  #socket: Socket | undefined;
  /** How many messages came, where the server lets a connection be taken up again. */
  #have: number | undefined;
  /**
   * The lines that may be lost, in the order in which they were sent: commands by their ids as JSON until they are
   * answered, and answers by `ANSWER` and the question's id until a later command is answered.
   */
  readonly #unsettled = new Map<string, string>();
  /** The ids of the agent's own questions, the newest last. */
  readonly #questions = new Set<string>();
  /** Wakes writes that wait for a socket. */
  readonly #waiting = new Set<() => void>();
  #isOver = false;

  constructor(address: string, make: new (address: string) => Socket, patience: number) {
    this.#address = new URL(address);
    this.#make = make;
    this.#patience = patience;
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

  /** Makes a socket. Resolves when it is open, and fails where it cannot be made. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => this.#connect(resolve, reject));
  }

  #connect(resolve: () => void, reject: (error: Error) => void): void {
    const address = new URL(this.#address);
    address.searchParams.set("tab", this.#name);
    if (this.#have !== undefined) address.searchParams.set("have", String(this.#have));
    const socket = new this.#make(address.href);
    let isOpen = false;
    let isFirst = true;
    socket.onopen = () => {
      if (this.#isOver) return socket.close(1000);
      isOpen = true;
      this.#socket = socket;
      this.#wake();
      resolve();
    };
    socket.onmessage = ({ data }: { data: unknown }) => {
      if (typeof data !== "string" || this.#isOver) return;
      const hello = isFirst ? greeting(data) : undefined;
      const goesOn = !isFirst || this.#have === undefined;
      isFirst = false;
      if (hello !== undefined) this.#greeted(hello);
      else if (goesOn) this.#heard(data);
      // Nobody says that it goes on where it was.
      else this.#fail(RELOAD);
    };
    socket.onerror = () => undefined;
    socket.onclose = () => {
      if (!isOpen) return reject(new Error(`cannot connect to ${this.#address.origin}`));
      if (this.#socket === socket) this.#lost();
    };
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #greeted({ back, lost, begun, questions }: Hello): void {
    if (back !== true) {
      if (lost === true || this.#have !== undefined) return this.#fail(RELOAD);
      this.#have = 0;
      for (const line of begun ?? []) this.#frame(line);
      for (const { line } of questions ?? []) this.#frame(line);
    } else {
      // A command that has arrived before is not run again, and only the first answer to a question counts.
      for (const line of this.#unsettled.values()) this.#socket?.send(line);
    }
  }

  #heard(data: string): void {
    if (this.#have !== undefined) this.#have += 1;
    if (this.#have === undefined || !data.startsWith(MARK)) return this.#frame(data);
    const { agentese } = JSON.parse(data) as { agentese: string };
    if (agentese === "reload") this.#fail(RELOAD);
    else if (agentese === "ended") this.#end();
  }

  #frame(line: string): void {
    const { id, method } = readId(line);
    // In JSON-RPC both sides count their own.
    if (id !== undefined && (method || !this.#settled(id))) this.#asked(id);
    this.#frames.enqueue(this.#encoder.encode(`${line}\n`));
  }

  #asked(id: string): void {
    this.#questions.delete(id);
    this.#questions.add(id);
    for (const oldest of this.#questions) {
      if (this.#questions.size <= QUESTIONS) break;
      this.#questions.delete(oldest);
    }
  }

  /** Whether a frame with that id answers a command. What was sent before that command has arrived, too. */
  #settled(id: string): boolean {
    if (!this.#unsettled.has(id)) return false;
    for (const key of this.#unsettled.keys()) {
      if (key === id) break;
      if (key.startsWith(ANSWER)) this.#unsettled.delete(key);
    }
    return this.#unsettled.delete(id);
  }

  async #send(line: string): Promise<void> {
    const { id, method, isRpc } = readId(line);
    const isAnswer = id !== undefined && (isRpc ? !method : this.#questions.has(id));
    const key = isAnswer ? `${ANSWER}${id}` : id;
    for (;;) {
      const socket = this.#socket;
      if (this.#isOver) throw new Error("the connection is over");
      if (socket?.readyState === OPEN && socket.bufferedAmount <= FULL) {
        if (key !== undefined) this.#unsettled.set(key, line);
        return socket.send(line);
      }
      if (socket?.readyState === OPEN) await pause(LOOK);
      else await new Promise<void>((resolve) => void this.#waiting.add(resolve));
    }
  }

  #lost(): void {
    this.#socket = undefined;
    if (this.#isOver) return;
    if (this.#have === undefined) return this.#end();
    void this.#again();
  }

  /** Tries to take the connection up again. */
  async #again(): Promise<void> {
    const until = Date.now() + this.#patience;
    for (let attempt = 0; Date.now() < until && !this.#isOver; attempt++) {
      await pause(PAUSES[Math.min(attempt, PAUSES.length - 1)] ?? 0);
      if (await this.open().then(() => true, () => false)) return;
    }
    this.#fail("the connection was lost");
  }

  #fail(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#frames.error(new Error(reason));
    this.#leave();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      this.#frames.close();
    } catch {
      // Whoever read it has cancelled it.
    }
    this.#leave();
  }

  #leave(): void {
    this.#wake();
    this.#socket?.close(1000);
    this.#socket = undefined;
  }
}

/** The greeting of a server of `agentese web`; undefined where it is none that can be read. */
function greeting(data: string): Hello | undefined {
  if (!data.startsWith(MARK)) return undefined;
  try {
    const hello = JSON.parse(data) as Hello;
    return hello.agentese === "hello" ? hello : undefined;
  } catch {
    return undefined;
  }
}

/** What a server of `agentese web` says first. */
interface Hello {
  readonly agentese: string;
  /** Whether it goes on where the connection was lost. */
  readonly back?: boolean;
  /** Whether it was asked to and cannot. */
  readonly lost?: boolean;
  /** The events of the run that is going on. */
  readonly begun?: readonly string[];
  /** Questions that nobody has answered. */
  readonly questions?: readonly { readonly line: string }[];
}

/** The id of a frame as JSON, whether it names a method, and whether it is JSON-RPC. */
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
