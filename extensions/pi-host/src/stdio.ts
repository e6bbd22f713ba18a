/**
 * Separation of the frames from other output of extensions and libraries.
 *
 * Frames use file descriptors of their own. File descriptor 1 is redirected to stderr, and descriptor 0 is
 * empty. Children of extensions inherit these two, so they cannot access the frames either.
 */

import { closeSync, openSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";

/** Channel for the frames of both directions. */
export interface FrameChannel {
  readonly input: Readable;
  /** Writes a whole line. Fails if the agent has disconnected. */
  write(line: string): void;
}

/** Reserves stdin and stdout for frames. Must be called before any other access to them. */
export function claimStdio(): FrameChannel {
  const channel = moveStreams() ?? { input: process.stdin, write: stdoutWriter() };
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  return channel;
}

function stdoutWriter(): (line: string) => void {
  const write = process.stdout.write.bind(process.stdout);
  return (line) => void write(line);
}

/**
 * Moves both streams to new descriptors. Returns `undefined` if they are not pipes, because only pipes can be
 * reopened.
 */
function moveStreams(): FrameChannel | undefined {
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

/** Makes the descriptor refer to the first of these files that can be opened. */
function replace(descriptor: number, paths: readonly string[], flags: string): void {
  closeSync(descriptor);
  for (const path of paths) {
    try {
      // The system assigns the lowest free descriptor, which is the one just closed.
      openSync(path, flags);
      return;
    } catch {
      // A file that cannot be opened, such as a socket, is skipped.
    }
  }
}

function writeAll(descriptor: number, line: string): void {
  const bytes = Buffer.from(line);
  let at = 0;
  while (at < bytes.length) at += writeSync(descriptor, bytes, at);
}
