import type { AnyTypes } from "../spec.js";
import type { Call } from "./call.js";
import type { Serving } from "./spec.js";

export { type Call, type Emitter } from "./call.js";
export { Refusal } from "./refusal.js";

/** What a method of a service gives: the data of its answer, now or later. */
export type Answer<R> = R | Promise<R>;

/** A method of a service, as the dispatcher sees it. */
export type Method<T extends AnyTypes> = (params: object, call: Call<T>) => unknown;

/** What an agent does. Each dialect has its own, with a method for every command. */
export abstract class Service<T extends AnyTypes> {
  abstract readonly serving: Serving<T>;

  /** Stops all running work: the input has ended and the dialect does not let it finish, or the output is broken. */
  shutDown(): void | Promise<void> {}

  /** Waits until all running work is over: the input has ended and the dialect lets it finish. */
  settle(): void | Promise<void> {}
}
