/** Models in the form of pi's interface. */

import type { Mirror } from "./mirror.js";
import { unsupported } from "./unsupported.js";
import type { Model } from "./protocol.js";

const KEYS = "keys do not leave the agent";

/** Function of an extension that replaces `getApiKey`. */
export type KeyLookup = (model: Model) => unknown;

/** `ctx.modelRegistry`: the available models, without their keys. */
export class ModelView {
  readonly #mirror: Mirror;
  #keyLookup: KeyLookup | undefined;

  /** Creates a registry. `onKeysReplaced` is called when an extension first replaces the keys. */
  constructor(
    mirror: Mirror,
    private readonly onKeysReplaced: () => void,
  ) {
    this.#mirror = mirror;
  }

  /** Returns the available models. Models without a key are not included. */
  getAll(): Model[] {
    return [...this.#mirror.models];
  }

  getAvailable(): Model[] {
    return this.getAll();
  }

  find(provider: string, modelId: string): Model | undefined {
    return this.#mirror.models.find((model) => model.provider === provider && model.id === modelId);
  }

  get getApiKey(): KeyLookup {
    return this.#keyLookup ?? (() => unsupported("ctx.modelRegistry.getApiKey()", KEYS));
  }

  /**
   * Replaces the lookup of keys. A prompt to a model for which the lookup returns no key is rejected. A
   * returned key is only checked, because the agent uses its own keys.
   */
  set getApiKey(lookup: KeyLookup) {
    const first = this.#keyLookup === undefined;
    this.#keyLookup = lookup;
    if (first) this.onKeysReplaced();
  }

  /**
   * Returns the reason for the rejection of a prompt to the model. Returns `undefined` if no extension
   * replaced the lookup, or if the replaced lookup returns a key.
   */
  async missingKeyReason(model: Model | undefined): Promise<string | undefined> {
    if (this.#keyLookup === undefined || model === undefined) return undefined;
    const key = await this.#keyLookup(model);
    if (key) return undefined;
    return `No API key found for ${model.provider}.\n\nAn extension decides about the keys of this session, and gave none.`;
  }

  getApiKeyForProvider(): never {
    return unsupported("ctx.modelRegistry.getApiKeyForProvider()", KEYS);
  }

  isUsingOAuth(): never {
    return unsupported("ctx.modelRegistry.isUsingOAuth()", KEYS);
  }

  refresh(): never {
    return unsupported("ctx.modelRegistry.refresh()");
  }

  getError(): undefined {
    return undefined;
  }

  registerProvider(): never {
    return unsupported("ctx.modelRegistry.registerProvider()");
  }

  unregisterProvider(): never {
    return unsupported("ctx.modelRegistry.unregisterProvider()");
  }

  get authStorage(): never {
    return unsupported("ctx.modelRegistry.authStorage", KEYS);
  }
}
