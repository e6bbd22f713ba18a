/** Unsupported APIs of pi. Their use throws an error that contains the name of the API. */

/** Error for the use of an unsupported API of pi. */
export class UnsupportedError extends Error {
  override readonly name = "UnsupportedError";

  constructor(
    /** Name of the API as an extension writes it. */
    readonly what: string,
    why?: string,
  ) {
    super(`agentese-pi-host does not support ${what}${why === undefined ? "" : `: ${why}`}`);
  }
}

/** Throws an {@link UnsupportedError}. */
export function unsupported(what: string, why?: string): never {
  throw new UnsupportedError(what, why);
}

/**
 * Returns a stand-in for an unsupported function or class. Extensions can import it and derive classes from
 * it, so that terminal-only code does not prevent loading. A call or construction throws an
 * {@link UnsupportedError}.
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

/** Returns a module in which every missing name is a {@link standIn}. */
export function moduleWith(name: string, members: Record<string, unknown>): Record<string, unknown> {
  const standIns = new Map<string, unknown>();
  return new Proxy(members, {
    get(target, key) {
      if (typeof key === "symbol" || Object.hasOwn(target, key)) return Reflect.get(target, key) as unknown;
      // The module loader reads these names. It would copy a module without `__esModule`, and lose the
      // stand-ins.
      if (key === "__esModule") return true;
      if (key === "default" || key === "then") return undefined;
      let found = standIns.get(key);
      if (found === undefined) standIns.set(key, (found = standIn(`${key} of ${name}`)));
      return found;
    },
    has: (target, key) => (typeof key === "string" && key !== "then") || Reflect.has(target, key),
  });
}
