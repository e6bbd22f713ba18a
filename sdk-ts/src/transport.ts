/** A connection to an agent: two byte streams, and the process behind them where there is one. */

/** How a process ended. */
export interface Exit {
  /** The exit code, where the process exited. */
  readonly code: number | null;
  /** The signal's name, where a signal ended the process. */
  readonly signal: string | null;
  /** The end of what it wrote to stderr. */
  readonly stderrTail: string;
}

/** The process behind a transport. */
export interface Child {
  readonly id: number;
  /** Resolves when the process has ended. Never fails. */
  readonly exited: Promise<Exit>;
  /** Ends the process and its group: end of input, then SIGTERM, then SIGKILL. Resolves when the process has ended. */
  shutdown(): Promise<Exit>;
}

/** Two byte streams. */
export interface Transport {
  /** The agent's output. */
  readonly readable: ReadableStream<Uint8Array>;
  /** The agent's input. */
  readonly writable: WritableStream<Uint8Array>;
  /** The process at the other end, where this side started it. */
  readonly child?: Child | undefined;
}
