import { AgentError } from "../error.js";

/** Rejection of a command, thrown by a method of a service. */
export class CommandError extends AgentError {
  override readonly kind = "refused";
  /** JSON-RPC code; -32603 by default. */
  readonly code: number | undefined;
  /** Additional data in JSON-RPC responses. */
  readonly data: unknown;

  constructor(message: string, options: { code?: number | undefined; data?: unknown } = {}) {
    super(message);
    this.code = options.code;
    this.data = options.data;
  }

  /** Returns the rejection of a command that this agent does not implement. */
  static notAvailable(command: string): CommandError {
    return new CommandError(`\`${command}\` is not available in this server`);
  }
}
