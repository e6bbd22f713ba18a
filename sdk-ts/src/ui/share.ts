/** Structural sharing: a new value reuses all equal parts of the old value. */

/**
 * Maximum depth, in levels, of the search for equal parts. Values of agents and tools may be nested deeper
 * than the recursion limit.
 */
const DEEPEST = 100;

/** Returns the old value if both are equal, else the new value with all equal parts of the old one. */
export function share<T>(old: unknown, value: T, depth = 0): T {
  if (depth > DEEPEST) return value;
  if (old === value || typeof old !== "object" || typeof value !== "object" || old === null || value === null) return value;
  if (Array.isArray(old) !== Array.isArray(value)) return value;
  if (Array.isArray(old) && Array.isArray(value)) {
    const items = value.map((item, place) => share(old[place], item, depth + 1) as unknown);
    const isSame = old.length === items.length && items.every((item, place) => item === old[place]);
    return (isSame ? old : items) as T;
  }
  const known = old as Record<string, unknown>;
  const names = Object.keys(value);
  const shared: Record<string, unknown> = {};
  let isSame = names.length === Object.keys(known).length;
  for (const name of names) {
    const isKnown = Object.hasOwn(known, name);
    const member = share(isKnown ? known[name] : undefined, (value as Record<string, unknown>)[name], depth + 1);
    // An assignment to `__proto__` would change the prototype.
    if (name === "__proto__") Object.defineProperty(shared, name, { value: member, writable: true, enumerable: true, configurable: true });
    else shared[name] = member;
    isSame &&= isKnown && member === known[name];
  }
  return (isSame ? old : shared) as T;
}

/** Returns the list with the item at `place` replaced, or the same list if the item is unchanged. */
export function replaced<T>(list: readonly T[], place: number, item: T): readonly T[] {
  return list[place] === item ? list : list.with(place, item);
}

/** Returns the record without a member, or the same record if the member is absent. */
export function without<T extends object>(record: T, name: string): T {
  if (!Object.hasOwn(record, name)) return record;
  const { [name as keyof T]: _, ...rest } = record;
  return rest as T;
}
