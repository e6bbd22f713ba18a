/** Timers and bounded waits. */

/** Time in milliseconds without output after which an ended process is considered fully read. */
export const QUIET_TIME = 100;

/** Time limit for reading an ended process, in milliseconds: its children may continue to write. */
export const DRAIN_LIMIT = 2000;

/**
 * Time in milliseconds for which the end of a stream, or a broken pipe, waits for the exit of the process.
 * The exit describes the cause better. On a busy machine the two events may be far apart.
 */
export const EXIT_WITHIN = 2000;

/**
 * Calls a function after that many milliseconds. Sets no timer for 0, or for more than 24 days, for which
 * `setTimeout` would fire at once.
 */
export function later(milliseconds: number, act: () => void): ReturnType<typeof setTimeout> | undefined {
  return milliseconds > 0 && milliseconds < 2 ** 31 ? setTimeout(act, milliseconds) : undefined;
}

/** Resolves after that many milliseconds. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/**
 * Waits for a promise that never fails, for at most that many milliseconds. Returns `true` if the promise
 * resolved.
 */
export async function within(milliseconds: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, milliseconds, false)));
  const came = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return came;
}
