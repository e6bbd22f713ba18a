/**
 * Loader of extensions in TypeScript or JavaScript. It provides this host's versions of pi's
 * packages.
 */

import { createJiti } from "jiti/static";

/** Default export of an extension. */
export type Factory = (api: Record<string, unknown>) => unknown;

/** Loads the file of an extension. Fails if the file is unreadable, throws, or exports no factory. */
export type Loader = (path: string) => Promise<Factory>;

/** Creates a loader that provides the given modules under their names. */
export function createLoader(
  modules: Record<string, unknown>,
  /** Private folder for compiled extensions; `undefined` disables the cache. */
  cache: string | undefined,
): Loader {
  const jiti = createJiti(import.meta.url, {
    virtualModules: modules,
    // As in pi, each extension has its own instances of imported modules.
    moduleCache: false,
    fsCache: cache ?? false,
    // A native import would let Node search for pi's packages on disk.
    tryNative: false,
  });
  return async (path) => {
    const factory = await jiti.import(path, { default: true });
    if (typeof factory !== "function") {
      throw new Error("it does not export a function as its default");
    }
    return factory as Factory;
  };
}
