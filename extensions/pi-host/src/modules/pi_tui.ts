/**
 * Supported part of `@mariozechner/pi-tui`, which needs no terminal: measuring and cutting text, names of
 * keys.
 *
 * Components are never drawn here. They are stand-ins, so that modules with subclasses of components can be
 * loaded.
 */

import sliceAnsi from "slice-ansi";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";

/** Returns the supported members. */
export function piTui(): Record<string, unknown> {
  return { Key: key, visibleWidth, truncateToWidth, wrapTextWithAnsi };
}

/** Returns the width of a text in columns. */
function visibleWidth(text: string): number {
  return stringWidth(text);
}

/** Cuts a text to a number of columns, with an ellipsis. If `fill` is true, a shorter text is padded. */
function truncateToWidth(text: string, columns: number, ellipsis = "...", fill = false): string {
  const width = stringWidth(text);
  if (width <= columns) return fill ? text + " ".repeat(columns - width) : text;
  const room = columns - stringWidth(ellipsis);
  const cut = room < 0 ? sliceAnsi(ellipsis, 0, columns) : sliceAnsi(text, 0, room) + ellipsis;
  return fill ? cut + " ".repeat(Math.max(0, columns - stringWidth(cut))) : cut;
}

/** Breaks a text into lines of at most that many columns. */
function wrapTextWithAnsi(text: string, columns: number): string[] {
  return wrapAnsi(text, columns, { hard: true, trim: false }).split("\n");
}

const MODIFIERS = ["ctrl", "shift", "alt"];

/**
 * Names of keys: `Key.escape`, `Key.ctrl("c")`, `Key.ctrlShift("p")`. They denote shortcuts, which are never
 * triggered here.
 */
const key: Record<string, unknown> = new Proxy<Record<string, unknown>>(
  {},
  {
    get(_target, name) {
      if (typeof name === "symbol") return undefined;
      const modifiers = modifiersOf(name);
      return modifiers === undefined ? name : (base: string) => [...modifiers, base].join("+");
    },
  },
);

/**
 * Splits `ctrlShift` into `ctrl` and `shift`. Returns `undefined` for a name that is not a list of modifiers.
 */
function modifiersOf(name: string): string[] | undefined {
  const parts = name.split(/(?=[A-Z])/).map((part) => part.toLowerCase());
  return parts.every((part) => MODIFIERS.includes(part)) ? parts : undefined;
}
