/** APIs of pi that this host does not support: using one fails with an error that names it. */

/** An API of pi was used that this host does not support. */
export class UnsupportedError extends Error {
  override readonly name = "UnsupportedError";

  constructor(
    /** What was used, as an extension would write it. */
    readonly what: string,
    why?: string,
  ) {
    super(`agentese-pi-host does not support ${what}${why === undefined ? "" : `: ${why}`}`);
  }
}

/** Fails with a {@link UnsupportedError}. */
export function unsupported(what: string, why?: string): never {
  throw new UnsupportedError(what, why);
}

/**
 * Stands in for a function or class that is not supported. Extensions can import it and derive classes
 * from it, for what a terminal alone would run must not keep the rest from loading; calling or
 * constructing it fails with a {@link UnsupportedError}.
 */
export function standIn(what: string): unknown {
  const fail = function (): never {
    throw new UnsupportedError(what);
  };
  return new Proxy(fail, {
    get(target, key, receiver) {
      if (key in target || typeof key === "symbol" || key === "then") {
        return Reflect.get(target, key, receiver) as unknown;
      }
      return standIn(`${what}.${key}`);
    },
  });
}

/** A module in which every name that it does not have is a {@link standIn}. */
export function moduleWith(name: string, members: Record<string, unknown>): Record<string, unknown> {
  const standIns = new Map<string, unknown>();
  return new Proxy(members, {
    get(target, key) {
      if (typeof key === "symbol" || Object.hasOwn(target, key)) return Reflect.get(target, key) as unknown;
      // These belong to how modules are loaded. What is no ES module would be copied, and lose its stand-ins.
      if (key === "__esModule") return true;
      if (key === "default" || key === "then") return undefined;
      let found = standIns.get(key);
      if (found === undefined) standIns.set(key, (found = standIn(`${key} of ${name}`)));
      return found;
    },
    has: (target, key) => (typeof key === "string" && key !== "then") || Reflect.has(target, key),
  });
}
