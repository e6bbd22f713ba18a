/** Errors of the client for any dialect. */

import { AgentError } from "../error.js";

/**
 * Error if the agent's dialect has no command for the intent, or its command lacks the parameter. Nothing was
 * sent.
 */
export class NotInDialectError extends AgentError {
  override readonly kind = "not_in_dialect";

  constructor(
    /** Intent, for example `export`. */
    readonly intent: string,
    /** Dialect, with its revision if known, for example `opal@0.1`. */
    readonly dialect: string,
    /**
     * Parameter that the command of the dialect does not take, for example `hidden`; `undefined` without a
     * command.
     */
    readonly param?: string,
  ) {
    super(`${dialect} has no command for \`${intent}\`${param === undefined ? "" : ` that takes \`${param}\``}`);
  }
}

/** No output of the program belongs to a known dialect, or the agent needs a bridge. */
export class NotRecognisedError extends AgentError {
  override readonly kind = "not_recognised";

  constructor(reason: string) {
    super(`the agent's dialect was not recognised: ${reason}`);
  }
}
