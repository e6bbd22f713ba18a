/** The models, as extensions of pi look at them. */

import type { Mirror } from "./mirror.js";
import { unsupported } from "./unsupported.js";
import type { Model } from "./protocol.js";

const KEYS = "keys do not leave the agent";

/** What an extension puts in the place of `getApiKey`. */
export type KeyOf = (model: Model) => unknown;

/** `ctx.modelRegistry`: which models can be used. Keys are not handed out. */
export class ModelView {
  readonly #mirror: Mirror;
  #keyOf: KeyOf | undefined;

  /** `keysReplaced` hears when an extension decides about keys for the first time. */
  constructor(
    mirror: Mirror,
    private readonly keysReplaced: () => void,
  ) {
    this.#mirror = mirror;
  }

  /** The models that can be used; models without a key are not known here. */
  getAll(): Model[] {
    return [...this.#mirror.models];
  }

  getAvailable(): Model[] {
    return this.getAll();
  }

  find(provider: string, modelId: string): Model | undefined {
    return this.#mirror.models.find((model) => model.provider === provider && model.id === modelId);
  }

  get getApiKey(): KeyOf {
    return this.#keyOf ?? (() => unsupported("ctx.modelRegistry.getApiKey()", KEYS));
  }

  /** A prompt to a model for which this gives no key is refused. A key that it gives stays here: the agent has its own. */
  set getApiKey(keyOf: KeyOf) {
    const first = this.#keyOf === undefined;
    this.#keyOf = keyOf;
    if (first) this.keysReplaced();
  }

  /** Why a prompt to the model is refused; undefined where no extension decides about keys, or where it gives one. */
  async refusal(model: Model | undefined): Promise<string | undefined> {
    if (this.#keyOf === undefined || model === undefined) return undefined;
    const key = await this.#keyOf(model);
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
