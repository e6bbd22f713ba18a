/** What of `@mariozechner/pi-ai` needs no provider: schemas, and which models there are. */

import { type TSchema, Type } from "@sinclair/typebox";

import type { Mirror } from "../mirror.js";
import type { Model } from "../protocol.js";

/** The supported members. */
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

/** A schema of a text that is one of several. `enum` and not `anyOf`: some providers refuse the latter. */
function StringEnum(values: readonly string[], options?: { description?: string; default?: string }): TSchema {
  return Type.Unsafe<string>({
    type: "string",
    enum: [...values],
    ...(options?.description ? { description: options.description } : {}),
    ...(options?.default ? { default: options.default } : {}),
  });
}
