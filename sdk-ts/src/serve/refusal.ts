import { AgentError } from "../error.js";

/** Rejects a command: a method of a service throws it. */
export class Refusal extends AgentError {
  override readonly kind = "refused";
  /** The JSON-RPC code; -32603 where there is none. */
  readonly code: number | undefined;
  /** More about it, in JSON-RPC answers. */
  readonly data: unknown;

  constructor(message: string, options: { code?: number | undefined; data?: unknown } = {}) {
    super(message);
    this.code = options.code;
    this.data = options.data;
  }

  /** The rejection of a command that this agent does not implement. */
  static notAvailable(command: string): Refusal {
    return new Refusal(`\`${command}\` is not available in this server`);
  }
}
