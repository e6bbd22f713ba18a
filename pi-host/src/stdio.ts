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
  const channel = move() ?? { input: process.stdin, write: stdoutWriter() };
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  return channel;
}

function stdoutWriter(): (line: string) => void {
  const write = process.stdout.write.bind(process.stdout);
  return (line) => void write(line);
}

/** Moves both to other descriptors; nothing where they are no pipes, for those cannot be opened again. */
function move(): FrameChannel | undefined {
  const folder = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";
  let input: number;
  let output: number;
  try {
    input = openSync(`${folder}/0`, "r");
    output = openSync(`${folder}/1`, "a");
  } catch {
    return undefined;
  }
  replace(0, ["/dev/null"], "r");
  replace(1, [`${folder}/2`, "/dev/null"], "a");
  return {
    input: new Socket({ fd: input, readable: true, writable: false }),
    write: (line) => writeAll(output, line),
  };
}

/** Gives a descriptor that is in use to the first of these files that can be opened. */
function replace(descriptor: number, paths: readonly string[], flags: string): void {
  closeSync(descriptor);
  for (const path of paths) {
    try {
      // The lowest free descriptor is taken.
      openSync(path, flags);
      return;
    } catch {
      // A socket, for one, cannot be opened.
    }
  }
}

function writeAll(descriptor: number, line: string): void {
  const bytes = Buffer.from(line);
  let at = 0;
  while (at < bytes.length) at += writeSync(descriptor, bytes, at);
}
