/** Waiting, with a way to stop it. */

/** How long nothing may be read from a process that has ended until it is taken to have said everything, in milliseconds. */
export const SILENCE = 100;

/** How long a process that has ended is read at most, in milliseconds: its children may go on writing. */
export const LAST_WORDS = 2000;

/**
 * How long the end of a stream, or a broken pipe, waits for the exit of the process behind it, which says more, in
 * milliseconds. On a busy machine the one is heard of well after the other.
 */
export const EXIT_WITHIN = 2000;

/**
 * Calls back after that many milliseconds, and never where that is 0 or more than a timer can count: 24 days, after
 * which `setTimeout` would call at once.
 */
export function later(milliseconds: number, act: () => void): ReturnType<typeof setTimeout> | undefined {
  return milliseconds > 0 && milliseconds < 2 ** 31 ? setTimeout(act, milliseconds) : undefined;
}

/** Resolves after that many milliseconds. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Waits for a promise that never fails, but not longer than that many milliseconds; says whether it came. */
export async function within(milliseconds: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, milliseconds, false)));
  const came = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return came;
}
