import type { AnyTypes } from "../spec.js";
import type { Call } from "./call.js";
import type { ServeSpec } from "./spec.js";

export { type Call, type Emitter } from "./call.js";
export { CommandError } from "./command_error.js";

/** Data of a response, or a promise of it. */
export type Answer<R> = R | Promise<R>;

/** Method of a service as the dispatcher calls it. */
export type Method<T extends AnyTypes> = (params: object, call: Call<T>) => unknown;

/** Base of agents. Each dialect has its own class, with a method for every command. */
export abstract class Service<T extends AnyTypes> {
  abstract readonly serving: ServeSpec<T>;

  /**
   * Stops all running work. Called when the output breaks, and at the end of the input if the dialect
   * requires it.
   */
  shutDown(): void | Promise<void> {}

  /** Waits until all running work is done. Called at the end of the input if the dialect lets work finish. */
  waitUntilIdle(): void | Promise<void> {}
}
