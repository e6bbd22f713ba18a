/** Parsing of incomplete JSON. */

import type { JsonObject, JsonValue } from "../generated/types.js";
import type { ToolBlock } from "./conversation.js";
import { isObject } from "./read.js";

/** Returns the arguments of a tool call, as far as they can be parsed so far. For display. */
export function readArguments(block: Pick<ToolBlock, "arguments" | "argumentsText">): JsonObject {
  if (block.arguments !== undefined) return isObject(block.arguments) ? block.arguments : {};
  const value = readPartial(block.argumentsText ?? "");
  return isObject(value) ? value : {};
}

/**
 * Returns the value of an incomplete JSON text. Open strings, lists and objects are closed at the end of the
 * text.
 */
export function readPartial(text: string): JsonValue | undefined {
  /** Closing brackets of the lists and objects that are open, innermost last. */
  const closers: ("}" | "]")[] = [];
  /** `true` if the next string names a member. */
  let isName = false;
  /**
   * Position after the last complete value; the next variable is the text that closes all brackets open
   * there.
   */
  let end = 0;
  let close = "";
  const markComplete = (at: number, quote = ""): void => {
    end = at;
    close = quote + [...closers].reverse().join("");
  };
  let place = 0;
  while (place < text.length) {
    const letter = text[place] as string;
    if (letter === '"') {
      const { next, safe, isComplete } = stringAt(text, place);
      if (isComplete && !isName) markComplete(next);
      else if (!isComplete && !isName) markComplete(safe, '"');
      place = next;
    } else if (letter === "{" || letter === "[") {
      closers.push(letter === "{" ? "}" : "]");
      isName = letter === "{";
      markComplete(++place);
    } else if (letter === "}" || letter === "]") {
      closers.pop();
      markComplete(++place);
    } else if (letter === "," || letter === ":") {
      isName = letter === "," && closers.at(-1) === "}";
      place += 1;
    } else if (SPACES.includes(letter)) {
      place += 1;
    } else {
      const next = wordEnd(text, place);
      // A literal at the end of the text may be incomplete.
      if (next < text.length || parsed(text.slice(place)) !== undefined) markComplete(next);
      place = next;
    }
  }
  return end === 0 ? undefined : parsed(text.slice(0, end) + close);
}

const SPACES = " \t\n\r";
const DELIMITERS = `${SPACES},:"{}[]`;

/**
 * Reads the string at a position. Returns its end, the end of its readable part, and whether it is complete.
 */
function stringAt(text: string, begin: number): { next: number; safe: number; isComplete: boolean } {
  let place = begin + 1;
  let safe = place;
  while (place < text.length) {
    if (text[place] === '"') return { next: place + 1, safe: place, isComplete: true };
    if (text[place] !== "\\") place += 1;
    else place += text[place + 1] === "u" ? 6 : 2;
    if (place <= text.length) safe = place;
  }
  return { next: text.length, safe, isComplete: false };
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
