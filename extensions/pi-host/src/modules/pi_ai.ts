/** Supported part of `@mariozechner/pi-ai`, which needs no provider: schemas and the list of models. */

import { type TSchema, Type } from "@sinclair/typebox";

import type { Mirror } from "../mirror.js";
import type { Model } from "../protocol.js";

/** Returns the supported members. */
export function piAi(mirror: Mirror): Record<string, unknown> {
  return {
    Type,
    StringEnum,
    getModel: (provider: string, id: string): Model | undefined =>
      mirror.models.find((model) => model.provider === provider && model.id === id),
    getModels: (provider: string): Model[] => mirror.models.filter((model) => model.provider === provider),
    getProviders: (): string[] => [...new Set(mirror.models.map((model) => model.provider))],
    modelsAreEqual: (a: Model | null | undefined, b: Model | null | undefined): boolean =>
      !!a && !!b && a.id === b.id && a.provider === b.provider,
  };
}

/**
 * Returns a schema for a string with fixed values. It uses `enum` instead of `anyOf`, which some providers
 * reject.
 */
function StringEnum(values: readonly string[], options?: { description?: string; default?: string }): TSchema {
  return Type.Unsafe<string>({
    type: "string",
    enum: [...values],
    ...(options?.description ? { description: options.description } : {}),
    ...(options?.default ? { default: options.default } : {}),
  });
}
