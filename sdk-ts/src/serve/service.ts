import type { AnyTypes } from "../spec.js";
import type { Call } from "./call.js";
import type { Serving } from "./spec.js";

export { type Call, type Emitter } from "./call.js";
export { Refusal } from "./refusal.js";

/** The data of an answer, or a promise of it. */
export type Answer<R> = R | Promise<R>;

/** A method of a service, as the dispatcher sees it. */
export type Method<T extends AnyTypes> = (params: object, call: Call<T>) => unknown;

/** The base of agents. Each dialect has its own class, with a method for every command. */
export abstract class Service<T extends AnyTypes> {
  abstract readonly serving: Serving<T>;

  /** Stops all running work. Called at the end of the input where the dialect says so, and when the output breaks. */
  shutDown(): void | Promise<void> {}

  /** Waits until all running work is done. Called at the end of the input where the dialect lets work finish. */
  waitUntilIdle(): void | Promise<void> {}
}
