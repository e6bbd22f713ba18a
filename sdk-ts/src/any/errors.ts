/** What can go wrong with an agent of any dialect alone. */

import { AgentError } from "../error.js";

/** The agent's dialect has no command that does that, or none that takes that parameter. Nothing was sent. */
export class NotInDialectError extends AgentError {
  override readonly kind = "not_in_dialect";

  constructor(
    /** What was wanted, as `export`. */
    readonly intent: string,
    /** The dialect, with its revision where that is known, as `opal@0.1`. */
    readonly dialect: string,
    /** The parameter that the dialect's command does not take, as `hidden`; nothing where there is no such command. */
    readonly param?: string,
  ) {
    super(`${dialect} has no command for \`${intent}\`${param === undefined ? "" : ` that takes \`${param}\``}`);
  }
}

/** Nothing that the program says belongs to a known dialect. */
export class NotRecognisedError extends AgentError {
  override readonly kind = "not_recognised";

  constructor(reason: string) {
    super(`the agent's dialect was not recognised: ${reason}`);
  }
}
