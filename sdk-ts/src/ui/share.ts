/** Keeping what did not change: a new value takes over those parts of the old one that are equal. */

/** The old value where both are equal, else the new one with every part of the old one that is equal. */
export function share<T>(old: unknown, value: T): T {
  if (old === value || typeof old !== "object" || typeof value !== "object" || old === null || value === null) return value;
  if (Array.isArray(old) !== Array.isArray(value)) return value;
  if (Array.isArray(old) && Array.isArray(value)) {
    const items = value.map((item, place) => share(old[place], item) as unknown);
    const isSame = old.length === items.length && items.every((item, place) => item === old[place]);
    return (isSame ? old : items) as T;
  }
  const known = old as Record<string, unknown>;
  const names = Object.keys(value);
  const shared: Record<string, unknown> = {};
  let isSame = names.length === Object.keys(known).length;
  for (const name of names) {
    const member = share(known[name], (value as Record<string, unknown>)[name]);
    shared[name] = member;
    isSame &&= member === known[name] && Object.hasOwn(known, name);
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
