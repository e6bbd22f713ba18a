import { UsageError } from "./error.js";
import type { Run } from "./run.js";
import type { AnyTypes, Spec } from "./spec.js";
import type { Transport } from "./transport.js";

/** How one call behaves. */
export interface CallOptions {
  /** How long its answer is waited for, in milliseconds. */
  readonly timeout?: number | undefined;
  /** Gives up waiting. */
  readonly signal?: AbortSignal | undefined;
}

/** How a client behaves. */
export interface ClientOptions<T extends AnyTypes> {
  /** Answers the agent's questions. */
  readonly dialogs?: T["handlers"] | undefined;
}

/** A client of an agent. */
export abstract class RpcClient<T extends AnyTypes> {
  constructor(
    readonly spec: Spec<T>,
    readonly transport: Transport,
    readonly options: ClientOptions<T> = {},
  ) {}

  protected call<R>(command: string, _params: object, _options?: CallOptions): Promise<R> {
    return Promise.reject(new UsageError(`${command} is not there yet`));
  }

  protected start<R extends Run<T>>(
    _run: new (client: never, session: string) => R,
    command: string,
    _params: object,
    _options?: CallOptions,
  ): Promise<R> {
    return Promise.reject(new UsageError(`${command} is not there yet`));
  }
}
