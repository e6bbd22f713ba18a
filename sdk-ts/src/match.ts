import type { UnknownEvent } from "./event.js";
import type { UnknownVariant } from "./generated/types.js";

/** What the declaration does not name. */
type Undeclared = UnknownEvent | UnknownVariant;

/** What is done for each type, and for what is none of them. */
export type Arms<E extends { readonly type: string }, R> = {
  readonly [K in Exclude<E, Undeclared>["type"]]: (value: Extract<E, { readonly type: K }>) => R;
} & {
  /** What the declaration does not name. */
  readonly _: (value: UnknownEvent | { readonly type: string }) => R;
};

/**
 * Calls the arm that belongs to the value's `type`. Exhaustive: leaving out an arm does not compile,
 * and what is younger than the declaration goes to `_`.
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
