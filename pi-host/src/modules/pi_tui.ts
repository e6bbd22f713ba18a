/**
 * What of `@mariozechner/pi-tui` needs no terminal: measuring and cutting text, names of keys.
 *
 * Components are never drawn without a terminal. They are stand-ins, so that a module that derives
 * classes from them loads.
 */

import sliceAnsi from "slice-ansi";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";

/** The supported members. */
export function piTui(): Record<string, unknown> {
  return { Key: key, visibleWidth, truncateToWidth, wrapTextWithAnsi };
}

/** How many columns a text takes. */
function visibleWidth(text: string): number {
  return stringWidth(text);
}

/** Cuts a text to that many columns; what was cut off is marked, and a text that is shorter may be filled up. */
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
 * Names of keys: `Key.escape`, `Key.ctrl("c")`, `Key.ctrlShift("p")`. What is made of them is a shortcut,
 * and nobody presses keys here.
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

/** `ctrlShift` is `ctrl` and `shift`; a name that is not a list of modifiers is undefined. */
function modifiersOf(name: string): string[] | undefined {
  const parts = name.split(/(?=[A-Z])/).map((part) => part.toLowerCase());
  return parts.every((part) => MODIFIERS.includes(part)) ? parts : undefined;
}
