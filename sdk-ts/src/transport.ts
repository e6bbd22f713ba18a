/** The bytes to and from an agent: any pair of web streams, and the process behind them, where there is one. */

/** How a process ended. */
export interface Exit {
  /** The exit code, where the process exited. */
  readonly code: number | null;
  /** The signal's name, where a signal ended the process. */
  readonly signal: string | null;
  /** The last of what it wrote to stderr. */
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
  /** What the agent writes. */
  readonly readable: ReadableStream<Uint8Array>;
  /** What the agent reads. */
  readonly writable: WritableStream<Uint8Array>;
  /** The process at the other end, where this side started it. */
  readonly child?: Child | undefined;
}
