import type { RpcClient } from "./client.js";
import type { AnyTypes } from "./spec.js";

/** The work that a prompt started. */
export class Run<T extends AnyTypes> {
  constructor(
    readonly client: RpcClient<T>,
    /** The session that the run belongs to; empty in dialects that have one session at a time. */
    readonly session: string,
  ) {}
}
