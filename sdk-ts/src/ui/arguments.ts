/** Reading JSON that is still on its way. */

import type { JsonObject, JsonValue } from "../generated/types.js";
import type { ToolBlock } from "./conversation.js";
import { isObject } from "./read.js";

/** The arguments of a tool call, as far as they can be read by now: meant to be called when they are shown. */
export function readArguments(block: Pick<ToolBlock, "arguments" | "argumentsText">): JsonObject {
  if (block.arguments !== undefined) return block.arguments;
  const value = readPartial(block.argumentsText ?? "");
  return isObject(value) ? value : {};
}

/** The value that a beginning of JSON text holds: open strings, lists and objects are closed where the text ends. */
export function readPartial(text: string): JsonValue | undefined {
  const closers: string[] = [];
  /** The text up to a place where a value is whole, with what closes it. */
  let whole = "";
  let isString = false;
  for (let place = 0; place < text.length; place++) {
    const letter = text[place] as string;
    if (isString) {
      if (letter === "\\") place += text[place + 1] === "u" ? 5 : 1;
      else if (letter === '"') isString = false;
      if (place < text.length) whole = text.slice(0, place + 1) + (isString ? '"' : "");
      else continue;
    } else if (letter === '"') {
      isString = true;
      whole = `${text.slice(0, place + 1)}"`;
    } else if (letter === "{" || letter === "[") {
      closers.push(letter === "{" ? "}" : "]");
      whole = text.slice(0, place + 1);
    } else if (letter === "}" || letter === "]") {
      closers.pop();
      whole = text.slice(0, place + 1);
    } else if (!/[\s,:]/.test(letter)) {
      whole = text.slice(0, place + 1);
    }
  }
  return closed(whole, closers.reverse().join(""));
}

/** The text with its ends, and without what is only half of a member or a word. */
function closed(whole: string, ends: string): JsonValue | undefined {
  const member = whole.replace(/,?\s*"(?:[^"\\]|\\.)*"\s*:?\s*$/, "");
  const word = whole.replace(/(?:,|"(?:[^"\\]|\\.)*"\s*:)?\s*[-+.\w]+$/, "").replace(/,\s*$/, "");
  for (const text of [whole, member, word, word.replace(/,?\s*"(?:[^"\\]|\\.)*"\s*:?\s*$/, "")]) {
    try {
      return JSON.parse(text + ends) as JsonValue;
    } catch {
      // The next form leaves out more.
    }
  }
  return undefined;
}
