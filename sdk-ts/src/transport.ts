/** The bytes to and from an agent: any pair of web streams, and the process behind them, where there is one. */

/** Two byte streams. */
export interface Transport {
  /** What the agent writes. */
  readonly readable: ReadableStream<Uint8Array>;
  /** What the agent reads. */
  readonly writable: WritableStream<Uint8Array>;
}
