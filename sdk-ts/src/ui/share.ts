/** Keeping what did not change: a new value takes over those parts of the old one that are equal. */

/** How deep equal parts are looked for: values of agents and tools may be nested deeper than functions can call each other. */
const DEEPEST = 100;

/** The old value where both are equal, else the new one with every part of the old one that is equal. */
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
    // Assigned, this one name would set what the object inherits from.
    if (name === "__proto__") Object.defineProperty(shared, name, { value: member, writable: true, enumerable: true, configurable: true });
    else shared[name] = member;
    isSame &&= isKnown && member === known[name];
  }
  return (isSame ? old : shared) as T;
}

/** The list with one item replaced; the same list where that item is the same. */
export function replaced<T>(list: readonly T[], place: number, item: T): readonly T[] {
  return list[place] === item ? list : list.with(place, item);
}

/** The record without a member; the same record where it does not have it. */
export function without<T extends object>(record: T, name: string): T {
  if (!Object.hasOwn(record, name)) return record;
  const { [name as keyof T]: _, ...rest } = record;
  return rest as T;
}
