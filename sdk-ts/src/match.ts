import type { UnknownEvent } from "./event.js";
import type { UnknownVariant } from "./generated/types.js";

/** Types of events and variants that the declaration does not contain. */
type UndeclaredEvent = UnknownEvent | UnknownVariant;

/** Functions for each declared type, and one for all other types. */
export type Arms<E extends { readonly type: string }, R> = {
  readonly [K in Exclude<E, UndeclaredEvent>["type"]]: (value: Extract<E, { readonly type: K }>) => R;
} & {
  /** Function for undeclared types. */
  readonly _: (value: UnknownEvent | { readonly type: string }) => R;
};

/**
 * Calls the function for the value's `type`. The match is exhaustive: a missing function does not compile.
 * Types that are newer than the declaration go to `_`.
 *
 * ```ts
 * const text = match(block, {
 *   text: (block) => block.text,
 *   thinking: (block) => block.thinking,
 *   toolCall: (block) => block.name,
 *   _: () => "",
 * });
 * ```
 */
export function match<E extends { readonly type: string }, const A extends Arms<E, unknown>>(
  value: E,
  arms: A & { readonly [K in Exclude<keyof A, keyof Arms<E, unknown>>]: never },
): ReturnType<A[keyof Arms<E, unknown> & keyof A]> {
  const table = arms as unknown as Record<string, (value: E) => ReturnType<A[keyof Arms<E, unknown> & keyof A]>>;
  const arm = Object.hasOwn(table, value.type) ? table[value.type] : undefined;
  return (arm ?? (table["_"] as NonNullable<typeof arm>))(value);
}
