/**
 * Byte functions of Node, Bun and Deno, absent in browsers. Declared here, because pages compile this file
 * without the types of Node.
 */
interface Platform {
  readonly process?: { getBuiltinModule?(name: "buffer"): NodeBytes | undefined };
}

/** Part of `node:buffer` that this file uses. */
interface NodeBytes {
  readonly isAscii?: (bytes: Uint8Array) => boolean;
  readonly Buffer: {
    readonly prototype: {
      latin1Slice(this: Uint8Array): string;
      indexOf(this: Uint8Array, byte: number, from: number): number;
      lastIndexOf(this: Uint8Array, byte: number): number;
    };
  };
}

const node = (globalThis as Platform).process?.getBuiltinModule?.("buffer");

/** Functions that search for a byte. Those of Node take a twentieth of the time of the standard ones. */
export const { indexOf, lastIndexOf } = node?.Buffer.prototype ?? Uint8Array.prototype;

/**
 * Returns the text of bytes that are all ASCII, in a third of the time of a `TextDecoder`. Returns
 * `undefined` for other bytes, and if the platform has no such function.
 */
export function asciiText(bytes: Uint8Array): string | undefined {
  return node?.isAscii?.(bytes) ? node.Buffer.prototype.latin1Slice.call(bytes) : undefined;
}

/** Returns the number of valid UTF-8 bytes from the start. */
export function validUpTo(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = characterLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

/** Returns the length of the character at `at`; 0 if it is invalid. */
function characterLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > bytes.length) return 0;
  // The second byte reveals overlong forms, surrogates and code points above U+10FFFF.
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  const second = bytes[at + 1] ?? 0;
  if (second < low || second > high) return 0;
  for (let next = at + 2; next < at + length; next++) {
    if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}
