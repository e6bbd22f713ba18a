/** Reading JSON that is still on its way. */

import type { JsonObject, JsonValue } from "../generated/types.js";
import type { ToolBlock } from "./conversation.js";
import { isObject } from "./read.js";

/** The arguments of a tool call, as far as they can be read by now: meant to be called when they are shown. */
export function readArguments(block: Pick<ToolBlock, "arguments" | "argumentsText">): JsonObject {
  if (block.arguments !== undefined) return isObject(block.arguments) ? block.arguments : {};
  const value = readPartial(block.argumentsText ?? "");
  return isObject(value) ? value : {};
}

/** The value that a beginning of JSON text holds: open strings, lists and objects are closed where the text ends. */
export function readPartial(text: string): JsonValue | undefined {
  /** What closes the lists and objects that are open, the innermost last. */
  const closers: ("}" | "]")[] = [];
  /** Whether the next string names a member. */
  let isName = false;
  /** The text up to a place where a value is whole, and what closes it there. */
  let end = 0;
  let close = "";
  const whole = (at: number, quote = ""): void => {
    end = at;
    close = quote + [...closers].reverse().join("");
  };
  let place = 0;
  while (place < text.length) {
    const letter = text[place] as string;
    if (letter === '"') {
      const { next, safe, isOver } = stringAt(text, place);
      if (isOver && !isName) whole(next);
      else if (!isOver && !isName) whole(safe, '"');
      place = next;
    } else if (letter === "{" || letter === "[") {
      closers.push(letter === "{" ? "}" : "]");
      isName = letter === "{";
      whole(++place);
    } else if (letter === "}" || letter === "]") {
      closers.pop();
      whole(++place);
    } else if (letter === "," || letter === ":") {
      isName = letter === "," && closers.at(-1) === "}";
      place += 1;
    } else if (SPACES.includes(letter)) {
      place += 1;
    } else {
      const next = wordEnd(text, place);
      // A word at the end may be half of one.
      if (next < text.length || parsed(text.slice(place)) !== undefined) whole(next);
      place = next;
    }
  }
  return end === 0 ? undefined : parsed(text.slice(0, end) + close);
}

const SPACES = " \t\n\r";
const DELIMITERS = `${SPACES},:"{}[]`;

/** The string that begins at a place: where it ends, and up to where its text can be read if it is not over. */
function stringAt(text: string, begin: number): { next: number; safe: number; isOver: boolean } {
  let place = begin + 1;
  let safe = place;
  while (place < text.length) {
    if (text[place] === '"') return { next: place + 1, safe: place, isOver: true };
    if (text[place] !== "\\") place += 1;
    else place += text[place + 1] === "u" ? 6 : 2;
    if (place <= text.length) safe = place;
  }
  return { next: text.length, safe, isOver: false };
}

function wordEnd(text: string, begin: number): number {
  let place = begin;
  while (place < text.length && !DELIMITERS.includes(text[place] as string)) place += 1;
  return place;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
