/**
 * Keeps the frames apart from whatever extensions and libraries print.
 *
 * Frames get file descriptors of their own. What is left as stdout writes to stderr, and what is left
 * as stdin is empty; children of extensions, which inherit 0 and 1, cannot touch a frame either.
 */

import { closeSync, openSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";

/** The two directions in which frames go. */
export interface FrameChannel {
  readonly input: Readable;
  /** Writes a whole line. Fails where nobody reads any more. */
  write(line: string): void;
}

/** Takes stdin and stdout for frames. To be called before anything else touches them. */
export function takeStdio(): FrameChannel {
  try {
    return moved();
  } catch {
    // Not pipes, or no folder of descriptors: what JavaScript prints is still kept apart.
    return patched();
  }
}

function moved(): FrameChannel {
  const folder = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";
  const input = openSync(`${folder}/0`, "r");
  const output = openSync(`${folder}/1`, "a");
  replace(0, "/dev/null", "r");
  replace(1, `${folder}/2`, "a");
  return {
    input: new Socket({ fd: input, readable: true, writable: false }),
    write: (line) => writeAll(output, line),
  };
}

/** Opens a file as a descriptor that is in use: the lowest free one is taken. */
function replace(descriptor: number, path: string, flags: string): void {
  closeSync(descriptor);
  const got = openSync(path, flags);
  if (got !== descriptor) throw new Error(`descriptor ${descriptor} was taken by another`);
}

function writeAll(descriptor: number, line: string): void {
  const bytes = Buffer.from(line);
  let at = 0;
  while (at < bytes.length) at += writeSync(descriptor, bytes, at);
}

function patched(): FrameChannel {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  return {
    input: process.stdin,
    write: (line) => void write(line),
  };
}
