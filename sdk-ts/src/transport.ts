/** Connection to an agent: two byte streams, and the process behind them, if any. */

/** Exit of a process. */
export interface Exit {
  /** Exit code, if the process exited. */
  readonly code: number | null;
  /** Name of the signal, if a signal ended the process. */
  readonly signal: string | null;
  /** End of its stderr. */
  readonly stderrTail: string;
}

/** Process behind a transport. */
export interface Child {
  readonly id: number;
  /** Resolves when the process has ended. Never fails. */
  readonly exited: Promise<Exit>;
  /** Ends the process and its group: end of input, then SIGTERM, then SIGKILL. Resolves when the process has ended. */
  shutdown(): Promise<Exit>;
}

/** Connection to an agent: two byte streams, and the process if this side started it. */
export interface Transport {
  /** Output of the agent. */
  readonly readable: ReadableStream<Uint8Array>;
  /** Input of the agent. */
  readonly writable: WritableStream<Uint8Array>;
  /** Process at the other end, if this side started it. */
  readonly child?: Child | undefined;
}
