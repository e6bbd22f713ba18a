/** Agents as child processes, and this process as an agent. For Node.js 20.19 and later. */

import type { ClientOptions, RpcClient } from "./client.js";
import { type ChildOptions, spawnChild } from "./child/child.js";
import { webReadable, webWritable } from "./child/streams.js";
import { UsageError } from "./error.js";
import type { AnyTypes } from "./spec.js";
import type { Transport } from "./transport.js";

export { type ChildOptions, spawnChild } from "./child/child.js";
export { SpawnError, type SpawnErrorKind } from "./child/spawn_error.js";

/** Functions that recreate a client, by client. */
const origins = new WeakMap<object, () => Promise<object>>();

/**
 * Starts a program with its arguments and drives it with a client of the given dialect.
 *
 * ```ts
 * await using client = await spawn(pi.Client, ["pi", "--mode", "rpc", "--no-session"]);
 * for await (const event of await client.prompt({ message: "What is in this directory?" })) {
 *   console.log(event.type);
 * }
 * ```
 *
 * @throws SpawnError The program cannot be started.
 */
export async function spawn<T extends AnyTypes, C extends RpcClient<T>>(
  make: new (transport: Transport, options?: ClientOptions<T>) => C,
  command: readonly string[],
  options: ClientOptions<T> & ChildOptions = {},
): Promise<C> {
  const client = new make(await spawnChild(command, options), options);
  origins.set(client, () => spawn(make, command, options));
  return client;
}

/**
 * Starts the program of a client again, with a new connection. Nothing of the old connection is reused.
 *
 * @throws UsageError The client was not created by `spawn`.
 * @throws SpawnError The program cannot be started again.
 */
export async function respawn<C extends object>(client: C): Promise<C> {
  const origin = origins.get(client);
  if (origin === undefined) throw new UsageError("this client was not made by `spawn`");
  return (await origin()) as C;
}

/** Returns stdin and stdout of this process as a transport, for an agent. */
export function stdio(): Transport {
  return { readable: webReadable(process.stdin), writable: webWritable(process.stdout) };
}
