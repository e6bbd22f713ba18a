/** The models, as extensions of pi look at them. */

import type { Mirror } from "./mirror.js";
import { unsupported } from "./unsupported.js";
import type { Model } from "./protocol.js";

const KEYS = "keys do not leave the agent";

/** `ctx.modelRegistry`: which models can be used. Keys are not handed out. */
export class ModelView {
  readonly #mirror: Mirror;

  constructor(mirror: Mirror) {
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

  getApiKey(): never {
    return unsupported("ctx.modelRegistry.getApiKey()", KEYS);
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
