/** Loads extensions: TypeScript or JavaScript, with pi's packages in the form that this host has of them. */

import { createJiti } from "jiti/static";

/** What an extension exports. */
export type Factory = (api: Record<string, unknown>) => unknown;

/** Loads the file of an extension. Fails where it cannot be read, run, or exports no factory. */
export type Loader = (path: string) => Promise<Factory>;

/** A loader that gives extensions those modules by name. */
export function createLoader(
  modules: Record<string, unknown>,
  /** Where compiled extensions are kept, a folder that is nobody else's; not kept where it is missing. */
  cache: string | undefined,
): Loader {
  const jiti = createJiti(import.meta.url, {
    virtualModules: modules,
    // Each extension has the modules that it imports for itself, as in pi.
    moduleCache: false,
    fsCache: cache ?? false,
    // Node would look for pi's packages on the disk.
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
