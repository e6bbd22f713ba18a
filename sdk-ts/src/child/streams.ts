/** Web streams over Node's streams, with writes that settle on drain, error or close. */

import type { Readable, Writable } from "node:stream";

/** Number of bytes that are read ahead. */
const READ_AHEAD = 256 * 1024;

/** Returns a web stream of the bytes of a readable. Cancelling it destroys the readable. */
export function webReadable(stream: Readable): ReadableStream<Uint8Array> {
  let isEnded = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const end = (error?: unknown): void => {
          if (isEnded) return;
          isEnded = true;
          if (error === undefined) controller.close();
          else controller.error(error);
        };
        stream.on("data", (chunk: Buffer) => {
          if (isEnded) return;
          controller.enqueue(chunk);
          if ((controller.desiredSize ?? 0) <= 0) stream.pause();
        });
        stream.on("end", () => end());
        stream.on("error", end);
        stream.on("close", () => end());
      },
      pull() {
        stream.resume();
      },
      cancel() {
        isEnded = true;
        stream.destroy();
      },
    },
    { highWaterMark: READ_AHEAD, size: (chunk) => chunk.byteLength },
  );
}

/**
 * Returns a web stream that writes into a writable. A write settles when its bytes are written, or
 * when they can never be.
 */
export function webWritable(stream: Writable): WritableStream<Uint8Array> {
  let failed: unknown;
  const waiting = new Set<(error: unknown) => void>();
  const fail = (error: unknown): void => {
    failed ??= error;
    for (const reject of waiting) reject(failed);
    waiting.clear();
  };
  const settled = (run: (done: (error?: Error | null) => void) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      if (failed !== undefined) return reject(failed);
      waiting.add(reject);
      run((error) => {
        waiting.delete(reject);
        if (error) reject(error);
        else resolve();
      });
    });
  return new WritableStream<Uint8Array>({
    start(controller) {
      stream.on("error", (error) => {
        fail(error);
        controller.error(error);
      });
      stream.on("close", () => {
        fail(new Error("the pipe is closed"));
        if (!stream.writableFinished) controller.error(failed);
      });
    },
    write(chunk) {
      return settled((done) => stream.write(chunk, done));
    },
    close() {
      return settled((done) => stream.end(() => done()));
    },
    abort() {
      stream.destroy();
    },
  });
}
