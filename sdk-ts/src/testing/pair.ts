import type { Transport } from "../transport.js";

/**
 * Two connected transports, each direction holding up to that many bytes: what one writes the other
 * reads. A full direction makes the writer wait, like a pipe that nobody reads.
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
