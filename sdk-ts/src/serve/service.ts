import { AgentError } from "../error.js";
import type { AnyTypes } from "../spec.js";
import type { Serving } from "./spec.js";

/** What a method of a service gives: the data of its answer, now or later. */
export type Answer<R> = R | Promise<R>;

/** One command that is being carried out. */
export interface Call<T extends AnyTypes> {
  readonly types?: T;
}

/** Why a command was not carried out. */
export class Refusal extends AgentError {
  override readonly kind = "refused";

  /** The command is declared and this agent does not have it. */
  static notAvailable(command: string): Refusal {
    return new Refusal(`\`${command}\` is not available in this server`);
  }
}

/** What an agent does. */
export abstract class Service<T extends AnyTypes> {
  abstract readonly serving: Serving<T>;
}
