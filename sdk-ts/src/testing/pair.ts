import type { Transport } from "../transport.js";

/**
 * Returns two connected transports. Each direction holds up to `buffer` bytes; writes wait while it is full,
 * as with a pipe.
 */
export function memoryPair(buffer = 64 * 1024): [Transport, Transport] {
  const pipe = (): TransformStream<Uint8Array, Uint8Array> =>
    new TransformStream(undefined, new ByteLengthQueuingStrategy({ highWaterMark: buffer }));
  const there = pipe();
  const back = pipe();
  return [
    { readable: back.readable, writable: there.writable },
    { readable: there.readable, writable: back.writable },
  ];
}
